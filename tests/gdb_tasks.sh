#!/usr/bin/env bash
# leat-gdb.py shows the tasks of a program, and their call stacks.
set -euo pipefail

program=$LEAT_PROGRAMS/parked
# shellcheck source=tests/gdb_common.bash
. "$(dirname "$0")/gdb_common.bash"
load_script

at_rest=("$script" 'break everybody_waits' 'run')
output=$(debug "${at_rest[@]}" 'info leat' 'leat bt all')
expect info "$output" 'worker 0: runs task ' ' main, 1 ready, 3 timers' \
    'scope ' 'opened by a thread' ' main: runs, in thread ' 'scope ' 'opened by task ' ' main' \
    ' receives (' 'waits to receive from channel ' ' quotes, on worker 0' \
    ' selects (' 'waits in a select, on worker 0' \
    'to receive from channel ' ' quotes' 'to send to channel ' ' log' \
    ' opens (' 'waits for the tasks of scope ' \
    'channel ' ' quotes: 0 of 0 items' \
    ' receives (' 'waits to receive' ' selects (' 'waits to receive' \
    'block receive_step (' 'waits to receive' \
    'channel ' ' log: 1 of 1 items' ' selects (' 'waits to send' \
    'scope ' 'opened by task ' ' opens (' ' sleeps (' 'sleeps, until ' 'of CLOCK_MONOTONIC' \
    'in no scope' 'channel ' ': 0 of 3 items'
for waits in 'task [0-9]* joins ([^)]*): waits for the end of block receive_step (' \
    'task [0-9]* two: waits to send to channel [0-9]* two, ' \
    'task [0-9]* runs_once ([^)]*): sleeps, until ' \
    'task [0-9]* does_once ([^)]*): waits for a call of prepare, on worker 0' \
    'task [0-9]* batches ([^)]*): waits for a call of store, until ' \
    'task [0-9]* blocks ([^)]*): waits for a call of read_blocking, on worker 0' \
    'task [0-9]* reads ([^)]*): waits to read from descriptor [0-9]*, on worker 0'; do
    grep -q "^    $waits" <<<"$output" || { echo "info: no '$waits' in $output"; failed=1; }
done
expect descriptors "$output" 'descriptor [0-9]*: 1 waits to read ' \
    '      task [0-9]* reads ([^)]*) waits to read ' 'descriptor [0-9]*: open ' \
    'in no scope' ' descriptor [0-9]*: \(open\|closed\) .* descriptor [0-9]*: \(open\|closed\) '
expect batcher "$output" \
    'batcher ledger: 1 forming, 0 running, 0 items in 0 batches so far '
# These two may stand anywhere in their scope.
expect ready "$output" ' yields (' 'is ready to go on, on worker 0'
expect block "$output" 'block receive_step (' 'waits at line ' 'to receive from channel ' ' quotes'
expect all "$output" ' main: runs, in thread ' '#0  everybody_waits' \
    ' receives (' '#0 ' 'innermost' \
    ' selects (' '#0 ' 'leat_select' 'selects' ' opens (' '#0 ' 'leat_scope_close' 'opens' \
    ' yields (' 'is ready' '#0 ' 'leat_yield' 'yields' ' sleeps (' '#0 ' 'leat_sleep' 'sleeps'
stacks=$(grep -c '^#0 ' <<<"$output")
[ "$stacks" = 13 ] || { echo "all: $stacks stacks, not 13: $output"; failed=1; }

number=$(grep -o 'task [0-9]* receives' <<<"$output" | sort -u | tr -dc 0-9)
output=$(debug "${at_rest[@]}" "leat bt $number" "leat bt $number full" 'bt' 'info leat')
expect one "$output" "task $number receives (" '#0 ' 'innermost' 'middle' 'receives' \
    'lt_switch_begin' "task $number receives (" '#0 ' 'innermost' 'marker = 4711' 'receives' \
    '#0  everybody_waits' '#1 ' 'worker 0: runs task '

output=$(debug "$script" 'info leat' 'leat bt' 'break main' 'run' 'leat bt all' \
    'break everybody_waits' 'continue' 'leat bt 4711' 'print 1')
for said in 'no runtime of leat is there' 'leat bt NUMBER|all' 'no runtime of leat is there' \
    'no task has the number 4711'; do
    grep -qF "$said" <<<"$output" || { echo "no '$said' in $output"; failed=1; }
    output=${output#*"$said"}
done
exit $failed
