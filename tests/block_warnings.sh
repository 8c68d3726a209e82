#!/usr/bin/env bash
# A step function with every macro, and a select with const items, compile without a warning. A
# local variable that is used after an await gets one. gdb shows the line at which a block waits.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$LEAT_SOURCE_DIR/include
failed=0

cat > "$work/every.c" <<'END'
#include <leat/leat.h>

#include <errno.h>

struct part {
    leat_block block;
    leat_chan *in;
    int x;
};

struct whole {
    leat_block block;
    leat_alarm alarm;
    struct part part, other;
    leat_scope *scope;
    leat_chan *in, *out;
    leat_case cases[2];
    int x, i;
};

static int run_part(leat_block *b)
{
    struct part *me = (struct part *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->in, &me->x);
    LEAT_RETURN(b, b->status);
}

static int run_whole(leat_block *b)
{
    struct whole *me = (struct whole *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < 3; me->i++) {
        switch (me->i) {
        case 0:
            LEAT_AWAIT_SEND(b, me->out, &me->x);
            break;
        case 1:
            if (me->x)
                LEAT_AWAIT_RECV(b, me->in, &me->x);
            else
                LEAT_AWAIT_YIELD(b);
            __attribute__((fallthrough));
        case 2:
            LEAT_AWAIT_SEND_UNTIL(b, me->out, &me->x, leat_after(LEAT_MS), &me->alarm);
            __attribute__((fallthrough));
        default:
            LEAT_AWAIT_RECV_UNTIL(b, me->in, &me->x, leat_after(LEAT_MS), &me->alarm);
        }
        while (b->status == 0)
            LEAT_AWAIT_SLEEP(b, LEAT_MS, &me->alarm);
        LEAT_AWAIT_SLEEP_UNTIL(b, leat_after(LEAT_MS), &me->alarm); LEAT_AWAIT_YIELD(b);
    }
    LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL);
    switch (b->status) {
    case 0: LEAT_AWAIT_SELECT_ORDERED(b, me->cases, 2, LEAT_NOW, NULL); break;
    case 1: LEAT_AWAIT_CALL(b, &me->part.block, run_part); break;
    case -ECANCELED: LEAT_RETURN(b, b->status);
    default: break;
    }
    if (leat_go_block(me->scope, &me->other.block, run_part) == 0)
        LEAT_AWAIT_BLOCK(b, &me->other.block);
    if (b->status)
        LEAT_RETURN_ON(b, me->out, &me->x);
    LEAT_END(b);
}

int start(leat_scope *scope, struct whole *whole);
int start(leat_scope *scope, struct whole *whole)
{
    static const int item = 1;
    leat_case cases[] = { LEAT_SEND(whole->out, &item), LEAT_RECV(whole->in, &whole->x) };
    if (leat_select(cases, 2, LEAT_NOW) >= 0)
        return 0;
    return leat_go_block(scope, &whole->block, run_whole);
}
END

cat > "$work/local.c" <<'END'
#include <leat/leat.h>

struct doubler {
    leat_block block;
    leat_chan *in, *out;
    int x;
};

leat_step before, inside, loop;

int before(leat_block *b)
{
    struct doubler *me = (struct doubler *)b;
    int declared_before;
    LEAT_BEGIN(b);
    declared_before = 2;
    LEAT_AWAIT_RECV(b, me->in, &me->x);
    me->x *= declared_before;
    LEAT_AWAIT_SEND(b, me->out, &me->x);
    LEAT_END(b);
}

int inside(leat_block *b)
{
    struct doubler *me = (struct doubler *)b;
    LEAT_BEGIN(b);
    int declared_inside = 2;
    LEAT_AWAIT_RECV(b, me->in, &me->x);
    me->x *= declared_inside;
    LEAT_AWAIT_SEND(b, me->out, &me->x);
    LEAT_END(b);
}

int loop(leat_block *b)
{
    struct doubler *me = (struct doubler *)b;
    LEAT_BEGIN(b);
    for (int of_a_loop = 0; of_a_loop < 5; of_a_loop++)
        LEAT_AWAIT_SEND(b, me->out, &me->x);
    LEAT_END(b);
}
END

# compile COMPILER OPTION…: with warnings as errors, and silent if all is well.
compile() {
    if ! "$@" -Wall -Wextra -Wpedantic -Wshadow -Wcast-qual -Wimplicit-fallthrough -Werror \
        -I "$include" -c \
        -o "$work/out.o" 2> "$work/out"; then
        echo "$* complains: $(head -20 "$work/out")"
        failed=1
    fi
}

compilers=("${CC:-cc}")
for compiler in gcc clang; do
    command -v $compiler > /dev/null && compilers+=($compiler)
done
for compiler in "${compilers[@]}"; do
    for level in -O0 -O2; do
        for standard in c17 gnu17; do
            compile "$compiler" -std=$standard $level "$work/every.c"
        done
    done
    # gcc warns only when it optimises; clang needs an option.
    warnings=(-O2 -Wall -Wextra)
    if "$compiler" --version | grep -q clang; then
        warnings+=(-Wconditional-uninitialized)
    fi
    "$compiler" -std=gnu17 "${warnings[@]}" -I "$include" -c -o "$work/out.o" "$work/local.c" \
        2> "$work/out" || true
    for name in declared_before declared_inside of_a_loop; do
        if ! grep -q "warning:.*$name.*uninitialized" "$work/out"; then
            echo "$compiler does not see that $name was kept over an await: $(cat "$work/out")"
            failed=1
        fi
    done
done
sed -E 's/\((struct [a-z]+ \*)\)b;/reinterpret_cast<\1>(b);/' "$work/every.c" > "$work/every.cpp"
for compiler in g++ clang++; do
    command -v $compiler > /dev/null || continue
    for level in -O0 -O2; do
        compile $compiler -std=c++17 $level -Wold-style-cast "$work/every.cpp"
    done
done
[ $failed = 0 ] || exit 1

# gdb: not with a sanitizer's library, which needs its flags, nor in a container that forbids
# tracing.
[ -z "${LEAT_SANITIZE-}" ] || exit 0
command -v gdb > /dev/null || exit 77
cat > "$work/program.c" <<'END'
#include <leat/leat.h>

struct waiting {
    leat_block block;
    leat_chan *in;
    int x;
};

static struct waiting waiting;

void look_now(void);
__attribute__((noinline)) void look_now(void)
{
    __asm__ volatile("");
}

static int wait_here(leat_block *b)
{
    struct waiting *me = (struct waiting *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_YIELD(b);
    LEAT_AWAIT_RECV(b, me->in, &me->x); /* the line */
    LEAT_END(b);
}

static int run(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    waiting.in = leat_chan_of(s, int, 0);
    leat_go_block(s, &waiting.block, wait_here);
    leat_sleep(100 * LEAT_MS);
    look_now();
    leat_close(waiting.in);
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
END
"${CC:-cc}" -std=gnu17 -g -I "$include" "$work/program.c" "$LEAT_BUILD_DIR/libleat.a" -pthread \
    -o "$work/program"
look() {
    DEBUGINFOD_URLS='' timeout 120 gdb -nx -batch -ex 'set confirm off' \
        -ex 'set debuginfod enabled off' -ex 'break look_now' -ex 'run' \
        -ex 'print waiting.block.line' -ex 'print *waiting.block.type' "$work/program" 2>&1
}
output=$(look)
grep -q 'Breakpoint 1, ' <<<"$output" || exit 77
line=$(grep -n 'the line' "$work/program.c" | cut -d: -f1)
if ! grep -q "^\$1 = $line\$" <<<"$output" ||
    ! grep -q 'name = .*"wait_here (.*)"' <<<"$output"; then
    echo "gdb does not print line $line of wait_here: $output"
    exit 1
fi
