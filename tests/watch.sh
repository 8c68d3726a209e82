#!/usr/bin/env bash
# On request leat watches a program: it reports a deadlock, but never while something can still
# happen; it names a task that holds a worker; a signal makes a dump.
set -euo pipefail

program=$LEAT_PROGRAMS/watched
ulimit -c 0
failed=0

# check NAME EXPECTED STATUS TEXT PATTERN…: checks a run's exit status, and patterns in its text.
check() {
    local name=$1 expected=$2 status=$3 text=$4 pattern
    shift 4
    [ "$status" = "$expected" ] || { echo "$name: status $status, not $expected: $text"; failed=1; }
    for pattern; do
        grep -q -- "$pattern" <<<"$text" || { echo "$name: no '$pattern' in: $text"; failed=1; }
    done
}

# run NAME=VALUE… HOW: sets status and text.
run() {
    status=0
    text=$({ timeout 60 env "$@" 2>&1; } 2>/dev/null) || status=$?
}

# TSan has its own thread, which leat does not know, so there is never a report.
if [ "${LEAT_SANITIZE-}" != thread ]; then
    for how in deadlock deadlock-of-threads deadlock-after-work deadlock-after-io \
        deadlock-for-ever deadlock-with-timers; do
        run LEAT_DEADLOCK=abort "$program" $how
        check $how 134 $status "$text" '^leat: deadlock' '^leat: [0-9]* task' \
            'receives (.*watched\.c:[0-9]*)' \
            'channel [0-9]* ch: 0 of 0 items'
    done
    for seconds in 1 5 25; do
        run LEAT_DEADLOCK=report timeout $seconds "$program" deadlock
        ! grep -q '^leat: deadlock' <<<"$text" || break
    done
    check report 124 $status "$text" '^leat: deadlock'
    [ "$(grep -c '^leat: deadlock' <<<"$text")" = 1 ] ||
        { echo "report: not once: $text"; failed=1; }
fi
for how in sleep deadline call blocking thread main timed talk; do
    run LEAT_DEADLOCK=abort "$program" $how
    check "no deadlock: $how" 0 $status "$text"
    [ -z "$text" ] || { echo "$how: says $text"; failed=1; }
done

# A machine that is busy may hold up the thread that watches: so these try a few times.
for _ in {1..6}; do
    run LEAT_WATCHDOG=100 "$program" hog
    [ "$(grep -c 'hogs' <<<"$text")" != 2 ] || break
done
check watchdog 0 $status "$text" \
    '^leat: task [0-9]* hogs (.*watched\.c:[0-9]*) has held worker [01] for [1-9][0-9]* ms$' \
    '^leat: task [0-9]* hogs (.*) held worker [01] for [1-9][0-9]* ms$'
[ "$(grep -c 'hogs' <<<"$text")" = 2 ] || { echo "watchdog: says $text"; failed=1; }
run LEAT_WATCHDOG=5000 "$program" sleep
check 'watchdog: sleep' 0 $status "$text"
[ -z "$text" ] || { echo "watchdog: sleep: says $text"; failed=1; }

for _ in {1..6}; do
    run LEAT_DUMP=SIGUSR1 "$program" signal
    ! grep -q 'did not answer' <<<"$text" || break
done
check signal 0 $status "$text" '^leat: ' 'did not answer within .* asks_for_dump' \
    'receives (.*: waits to receive'

for wrong in LEAT_DEADLOCK=yes LEAT_WATCHDOG=soon LEAT_WATCHDOG=0 LEAT_DUMP=SIGKILL LEAT_DUMP=3 \
    LEAT_WATCH=all \
    LEAT_TRACE=/nosuch/trace; do
    run $wrong "$program" sleep
    check "$wrong" 2 $status "$text" "^leat: $wrong: wanted is "
done
run LEAT_WORKERS=257 "$LEAT_PROGRAMS/traced"
check LEAT_WORKERS=257 1 $status "$text" '^leat: LEAT_WORKERS=257: wanted is '
exit $failed
