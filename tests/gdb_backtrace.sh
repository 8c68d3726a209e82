#!/usr/bin/env bash
# gdb sees a task's whole stack: in a function that the task calls, at each instruction of a switch,
# and after a switch.
set -euo pipefail

[ -z "${LEAT_SANITIZE-}" ] || exit 77
command -v gdb >/dev/null || exit 77
program=$LEAT_PROGRAMS/backtrace
failed=0

# look COMMAND…: prints gdb's backtraces, each as one line of its frames' functions.
look() {
    local arguments=(-nx -batch -ex 'set confirm off' -ex 'set pagination off'
        -ex 'set debuginfod enabled off' -ex 'set breakpoint pending on') command
    for command; do
        arguments+=(-ex "$command")
    done
    DEBUGINFOD_URLS='' timeout 120 gdb "${arguments[@]}" "$program" 2>&1
}

# gdb may not be allowed to trace, in a container.
if ! look 'break main' 'run' | grep -q 'Breakpoint 1, '; then
    exit 77
fi

# expect NAME OUTPUT PATTERN…: no backtrace is broken, and the patterns occur in this order.
expect() {
    local name=$1 output=$2 pattern rest
    shift 2
    rest=$(tr '\n' ' ' <<<"$output")
    if grep -q 'corrupt stack\|Backtrace stopped\|Cannot access memory' <<<"$output"; then
        echo "$name: the stack is broken: $output"
        failed=1
    fi
    for pattern; do
        if ! grep -q -- "$pattern" <<<"$rest"; then
            echo "$name: no '$pattern' in $output"
            failed=1
            return
        fi
        rest=${rest#*"$pattern"}
    done
}

expect called "$(look 'break innermost' 'run' 'bt')" \
    '#0  innermost' '#1 ' 'middle' '#2 ' 'outermost'
expect 'called again' "$(look 'break innermost' 'run' 'continue' 'continue' 'continue' 'bt')" \
    '#0  innermost' '#1 ' 'middle' '#2 ' 'outermost'
expect finished \
    "$(look 'tbreak switching' 'run' 'tbreak lt_switch_left' 'continue' 'finish' 'bt')" \
    '#0 ' 'leat_yield' 'switching' 'outermost'

# Sixteen instructions, across the change of stacks. After each one all frames are seen: a task's
# down to the beginning of its stack, the worker's down to the beginning of its thread.
steps=()
for _ in {1..16}; do
    steps+=('bt' 'stepi')
done
output=$(look 'break switching' 'run' 'tbreak lt_switch_left' 'continue' "${steps[@]}")
expect stepped "$output" '#0  lt_switch_left' 'leat_yield' 'outermost' '#0 ' 'lt_worker_main'
whole=$(grep -c '^#[0-9]* .*\(outermost\|lt_worker_main\) (' <<<"$output")
[ "$whole" = 16 ] || { echo "stepped: $whole of 16 are whole: $output"; failed=1; }
exit $failed
