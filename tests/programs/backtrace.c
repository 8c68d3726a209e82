/* backtrace.c: tasks that switch; gdb_backtrace.sh stops in them and checks their stacks. */
#include <leat/leat.h>

static volatile int depth;

__attribute__((noinline)) void innermost(void)
{
    depth++;
}

__attribute__((noinline)) static void middle(void)
{
    innermost();
    depth++;
}

__attribute__((noinline)) static void switching(void)
{
    leat_yield();
    depth++;
}

static int outermost(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        switching();
        middle();
    }
    return 0;
}

static int run(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, outermost, arg);
    leat_go(s, outermost, arg);
    return leat_scope_close(s);
}

int main(void)
{
    return leat_main_with(run, NULL, &(leat_options){ .workers = 1 });
}
