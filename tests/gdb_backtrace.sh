#!/usr/bin/env bash
# gdb sees a task's whole stack: in a function that the task calls, at each instruction of a switch,
# and after a switch.
set -euo pipefail

program=$LEAT_PROGRAMS/backtrace
# shellcheck source=tests/gdb_common.bash
. "$(dirname "$0")/gdb_common.bash"

expect called "$(debug 'break innermost' 'run' 'bt')" \
    '#0  innermost' '#1 ' 'middle' '#2 ' 'outermost'
expect 'called again' "$(debug 'break innermost' 'run' 'continue' 'continue' 'continue' 'bt')" \
    '#0  innermost' '#1 ' 'middle' '#2 ' 'outermost'
expect finished \
    "$(debug 'tbreak switching' 'run' 'tbreak lt_switch_left' 'continue' 'finish' 'bt')" \
    '#0 ' 'leat_yield' 'switching' 'outermost'

# Sixteen instructions, across the change of stacks. After each one all frames are seen: a task's
# down to the beginning of its stack, the worker's down to the beginning of its thread.
steps=()
for _ in {1..16}; do
    steps+=('bt' 'stepi')
done
output=$(debug 'break switching' 'run' 'tbreak lt_switch_left' 'continue' "${steps[@]}")
expect stepped "$output" '#0  lt_switch_left' 'leat_yield' 'outermost' '#0 ' 'lt_worker_main'
whole=$(grep -c '^#[0-9]* .*\(outermost\|lt_worker_main\) (' <<<"$output")
[ "$whole" = 16 ] || { echo "stepped: $whole of 16 are whole: $output"; failed=1; }
exit $failed
