#!/usr/bin/env bash
# leat map: signals end the jobs with everything that they have started, and then leat.
. "$(dirname "$0")/map_common.bash"

# run ARGUMENT...: starts a run whose jobs write their process numbers to `pids`; $run is its own
run() {
    rm -f pids
    "$leat" map "$@" >"$out/got" 2>"$out/err" &
    run=$!
}

tree='echo $$ >>pids; (sh -c "echo \$\$ >>pids; sleep 1000" & sleep 1000) & echo $! >>pids; wait'
ulimit -c 0
for case in 'INT 130' 'TERM 143' 'HUP 129' 'QUIT 131'; do
    signal=${case% *} status=${case#* }
    # A shell ignores INT and QUIT in what it starts in the background: env gives them back. What
    # the jobs start there ignores them, too, until the grace is over.
    rm -f pids
    env --default-signal "$leat" map -j2 --grace=0.5 -s "$tree" ::: 1 2 3 4 \
        >"$out/got" 2>"$out/err" &
    run=$!
    wait_for pids 6
    kill -"$signal" $run
    wait $run 2>/dev/null
    is "$signal: status" "$status" $?
    # shellcheck disable=SC2046
    wait_for are_gone $(cat pids)
done

# SIGCHLD, which the caller may ignore: how the jobs end counts all the same
env --ignore-signal=CHLD "$leat" map -s 'exit $1' ::: 0 3 0 2>"$out/err"
is 'CHLD: status' 1 $?
is 'CHLD: messages' 'leat map: 1 of 3 jobs failed' "$(cat "$out/err")"

# a signal that prints a dump ends nothing
rm -f pids
job='echo $$ >>pids; until [ -e dumped ]; do sleep 0.02; done; echo done'
env --default-signal LEAT_DUMP=SIGQUIT "$leat" map -s "$job" ::: 1 >"$out/got" 2>"$out/err" &
run=$!
wait_for pids 1
kill -QUIT $run
wait_for grep -q '^worker 0' "$out/err"
touch dumped
wait $run
is 'a dump: status' 0 $?
is 'a dump: output' done "$(cat "$out/got")"

# deaf jobs: killed after the grace, and by a second signal at once
run -j2 --grace=0.3 -s 'trap "" TERM; echo $$ >>pids; while :; do sleep 1; done' ::: 1 2
wait_for pids 2
kill -TERM $run
wait $run
is 'deaf: status' 143 $?
# shellcheck disable=SC2046
are_gone $(cat pids) || fail 'deaf: alive'
rm -f pids
env --default-signal "$leat" map -j2 --grace=0.3 \
    -s 'trap "" INT; echo $$ >>pids; while :; do sleep 1; done' ::: 1 2 >"$out/got" 2>"$out/err" &
run=$!
wait_for pids 2
kill -INT $run
wait $run 2>/dev/null
is 'deaf to INT: status' 130 $?
# shellcheck disable=SC2046
are_gone $(cat pids) || fail 'deaf to INT: alive'
run -j2 --grace=1h -s 'trap "" TERM; echo $$ >>pids; while :; do sleep 1; done' ::: 1 2
wait_for pids 2
kill -TERM $run
signal_again
wait $run
is 'a second signal: status' 143 $?
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)

# A job's process dies at once; another one of its group has the grace to end in.
run -j1 --grace=1h -s '(trap "sleep 0.1; : >late; exit" TERM; echo $$ >>pids
    while :; do sleep 0.02; done) & exec sleep 1000' ::: 1
wait_for pids 1
kill -TERM $run
wait $run
is 'the rest of a group: status' 143 $?
[ -e late ] || fail 'the rest of a group was killed at once'

# what ended before is delivered, and the log is whole
run -j2 --log=log -s 'echo $$ >>pids; echo "$1"; [ "$1" -lt 3 ] || sleep 1000' ::: 1 2 3 4 5
wait_for pids 4
kill -TERM $run
wait $run
is 'delivered' '1 2' "$(grep -v '[34]' "$out/got" | xargs)"
is 'logged' '1:0 2:0' "$(tail -n +2 log | sort -n | cut -f1,7 | tr '\t' : | xargs)"

# stop and continue
run -j1 -s 'echo $$ >>pids; while [ ! -e go ]; do sleep 0.02; done' ::: 1
wait_for pids 1
stop_and_continue "$(cat pids)"
: >go
wait $run
is 'stopped and continued: status' 0 $?

stops_the_clock || fail 'a stop counts for --timeout'

# waiting for a writer of the items
mkfifo unwritten
for arguments in '' --pipe; do
    # shellcheck disable=SC2086
    timeout -k 10 --preserve-status -s TERM 0.3 "$leat" map $arguments -a unwritten echo
    is "no writer, $arguments: status" 143 $?
done
(sleep 0.2; echo a >unwritten) &
gives 'a late writer' 0 a -a unwritten echo
wait

# waiting for items, and for a reader that does not read
mkfifo items sink
exec 3<>items 4<>sink
"$leat" map echo <items >"$out/got" 2>"$out/err" &
run=$!
echo a >&3
sleep 0.2
kill -TERM $run
wait $run
is 'waiting for items: status' 143 $?
for again in '' yes; do
    rm -f pids
    "$leat" map -j2 --grace=0.1 -s 'echo $$ >>pids; head -c 1000000 /dev/zero' ::: 1 2 >sink &
    run=$!
    wait_for pids 2
    sleep 0.2
    kill -TERM $run
    [ -z "$again" ] || signal_again
    wait $run
    is "a reader that does not read${again:+, a second signal}: status" 143 $?
done

# A terminal that does not take output: `script` does not read from it, as nobody reads from script.
script -qec true /dev/null </dev/null >/dev/null 2>&1 && terminals=yes || terminals=
for case in 'yes' 'yes >&2' 'exec sleep 1000'; do
    [ -n "$terminals" ] || break
    rm -f pids
    export job="echo \$PPID >>pids; $case"
    # The progress line comes after half a second; it has no room either.
    script -qefc "yes & sleep 0.2; exec env --default-signal '$leat' map --grace=0.1 -s \"\$job\" \
        ::: 1" /dev/null >sink </dev/null &
    terminal=$!
    wait_for pids 1
    run=$(cat pids)
    sleep 1
    kill -TERM "$run"
    wait_for are_gone "$run"
    kill -KILL "$run" $terminal 2>/dev/null
    wait $terminal 2>/dev/null
done

# Messages would have to wait for the same reader.
rm -f pids
"$leat" map -j1 --grace=0.1 -s '[ "$1" != 1 ] || exit 1
    echo $$ >>pids; head -c 1000000 /dev/zero' ::: 1 2 >sink 2>&1 &
run=$!
wait_for pids 1
sleep 0.2
kill -TERM $run
wait_for are_gone $run
kill -KILL $run 2>/dev/null
wait $run
is 'a reader that does not read, and messages: status' 143 $?

# A deaf job is killed although leat waits to write its output.
rm -f pids
"$leat" map -j2 --fail-fast --grace=0.2 -s 'if [ "$1" = 1 ]; then
        trap "" TERM; echo $$ >>pids; head -c 1000000 /dev/zero; while :; do sleep 1; done
    fi
    until [ -e pids ]; do sleep 0.02; done; sleep 0.3; exit 1' ::: 1 2 >sink &
run=$!
wait_for pids 1
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)
is_gone=$(are_gone $run && echo gone)
is 'deaf, a reader that does not read: leat waits for it' '' "$is_gone"
kill -TERM $run
wait $run
is 'deaf, a reader that does not read: status' 143 $?

# nohup
rm -f pids go
job='echo $$ >>pids; until [ -e go ]; do sleep 0.02; done; echo done'
(trap '' HUP && exec "$leat" map -s "$job" ::: 1) >"$out/got" &
run=$!
wait_for pids 1
kill -HUP $run
sleep 0.2
: >go
wait $run
is 'nohup: status' 0 $?
is 'nohup: output' 'done' "$(cat "$out/got")"

finish
