#!/usr/bin/env bash
# leat-gdb.py shows the tasks in a core dump, and their call stacks. Skipped where the system does
# not write a core dump to the working directory.
set -euo pipefail

program=$LEAT_PROGRAMS/parked
# shellcheck source=tests/gdb_common.bash
. "$(dirname "$0")/gdb_common.bash"
load_script

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The system cuts a core dump short when it freezes the process meanwhile.
for _ in {1..50}; do
    find "$work" -type f -name '*core*' -delete
    (cd "$work" && ulimit -c unlimited && "$program" abort) 2>/dev/null || true
    core=$(find "$work" -type f -name '*core*')
    [ -n "$core" ] || { echo 'skipped: no core dump'; exit 77; }
    output=$(debug "$script" 'info leat' 'leat bt all' 'bt' -- "$program" "$core")
    grep -q 'extending past end of file' <<<"$output" || break
done
expect core "$output" 'worker 0: runs task ' ' main' \
    ' receives (' 'waits to receive from channel ' ' quotes' ' log: 1 of 1 items' \
    ' main: runs, in thread ' '#0 ' 'everybody_waits' \
    ' receives (' '#0 ' 'innermost' 'middle' 'receives' 'lt_switch_begin' \
    ' sleeps (' '#0 ' 'leat_sleep' 'sleeps' 'lt_switch_begin' '#0 ' 'everybody_waits'
exit $failed
