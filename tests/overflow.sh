#!/usr/bin/env bash
# A stack overflow ends the program by SIGSEGV, with one line that names the task, the size of its
# stack and how to raise it. Any other fault has its usual effect, or goes to the earlier handler.
set -euo pipefail

# A sanitizer has its own handler and larger frames.
[ -z "${LEAT_SANITIZE-}" ] || exit 77
program=("$LEAT_PROGRAMS/overflow")
ulimit -c 0
failed=0

# try WAY STATUS LINES PATTERN…: checks the exit status, the number of lines, and patterns in
# them.
try() {
    local way=$1 expected=$2 lines=$3 text status=0 pattern
    shift 3
    text=$({ "${program[@]}" "$way" 2>&1; } 2>/dev/null) || status=$?
    [ "$status" = "$expected" ] || { echo "$way: status $status, not $expected"; failed=1; }
    [ "$(printf '%s' "$text" | grep -c '')" = "$lines" ] || { echo "$way: says: $text"; failed=1; }
    for pattern; do
        grep -q -- "$pattern" <<<"$text" || { echo "$way: no '$pattern' in: $text"; failed=1; }
    done
}

segv=$((128 + 11))
raise='leat_go_sized\|stack_size'
try default $segv 1 '^leat: .*overflow' 'overflowing_task (.*overflow\.c:[0-9]*)' '\<6[0-4] KiB' \
    "$raise"
try jump $segv 1 '^leat: .*overflow' 'jumping_task (' "$raise"
try odd $segv 1 '^leat: .*overflow in task odd??: '
try sized $segv 1 '^leat: .*overflow' 'overflowing_task (' '\<25[0-6] KiB' "$raise"
try after-wait $segv 1 '^leat: .*overflow' 'overflowing_task (' "$raise"
try first $segv 1 '^leat: .*overflow' "$raise"
try handler-overflow $segv 1 '^leat: .*overflow'
ulimit -s 1024
try in-thread $segv 1 '^leat: .*overflow' 'overflowing_task (' '\<1[0-9]* KiB' 'ulimit -s'
try blocking $segv 1 '^leat: .*overflow' 'a thread of leat_blocking' 'ulimit -s'
try null $segv 0
try null-in-thread $segv 0
try handler 42 1 '^the former handler$'
try handler-with-info 42 1 '^the former handler$'
try handler-later 42 2 '^the later handler$' '^the former handler$'
try handler-later-overflow $segv 2 '^the later handler$' '^leat: .*overflow'
try handler-again 42 1 '^the former handler$'
try world $segv 2 'seed 0' '^leat: .*overflow' 'overflowing_task (' "$raise"
try world-in-thread $segv 2 'seed 0' '^leat: .*overflow' 'overflowing_task (' '\<1[0-9]* KiB'
try world-blocking $segv 2 'seed 0' '^leat: .*overflow' 'a thread of leat_blocking'
# Where each guard is a mapping.
if "$LEAT_PROGRAMS/older" true; then
    program=("$LEAT_PROGRAMS/older" "${program[@]}")
    for way in default jump sized after-wait; do
        try $way $segv 1 '^leat: .*overflow' "$raise"
    done
fi
exit $failed
