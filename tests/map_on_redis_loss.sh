#!/usr/bin/env bash
# leat map --on=redis://HOST/QUEUE: workers and engines that go away, runs that end early, and
# strange jobs and results in the queue.
. "$(dirname "$0")/redis_common.bash"

# a worker is killed: its job begins again elsewhere
begin_worker -j1
run --on="$queue*2" --log=log -s "$wait_here echo \$1" ::: 1 2 3
wait_for pids 1
kill_worker "$worker"
begin_worker -j4 --lease=2
wait_for pids 3
: >go
finished 'a worker is killed' 0
is 'a worker is killed: output' '1 2 3' "$(xargs <"$out/got")"
is 'a worker is killed: log' '1 2 3' "$(tail -n +2 log | cut -f1 | sort -n | xargs)"
end_worker

# it is stopped for longer than its lease: then it ends what another does
begin_worker -j1
first=$worker
run --on="$queue" -s "$wait_here echo \$1" ::: 1
wait_for pids 1
kill -STOP "$first"
begin_worker -j1 --lease=2
wait_for pids 2
kill -CONT "$first"
wait_for are_gone "$(head -n 1 pids)"
kill -0 "$(tail -n 1 pids)" || fail 'the job of the second worker has ended, too'
: >go
finished 'a worker is stopped' 0
is 'a worker is stopped: output' 1 "$(cat "$out/got")"
kill_worker "$first"
end_worker

# its jobs end it: they are not tried for ever
run --on="$queue" -s 'kill -KILL $PPID; sleep 0.1' ::: 1
until are_gone "$run"; do
    begin_worker
    until are_gone "$worker" || are_gone "$run"; do sleep 0.02; done
done
kill_worker "$worker" 2>/dev/null
finished 'a job that kills its workers' 1
grep -q 'job 1: the workers that had it were lost' "$out/err" ||
    fail "a job that kills its workers: $(cat "$out/err")"

# a signal ends it: its jobs go on for the grace, and are then given back; the second cuts it short
begin_worker -j1 --lease=1m --grace=1h
run --on="$queue*1" -s "$wait_here echo \$1" ::: 1 2
wait_for pids 1
kill -TERM "$worker"
first=$worker
begin_worker -j1 --lease=1m
: >go
wait_for are_gone "$first"
finished 'a worker ends' 0
is 'a worker ends: output' '1 2' "$(xargs <"$out/got")"
is 'a worker ends: each job ran once' 2 "$(wc -l <pids)"
end_worker
for grace in 0 1h; do
    begin_worker -j1 --lease=1m --grace=$grace
    run --on="$queue" --grace=0.2 -s "$wait_here echo \$1" ::: 1
    wait_for pids 1
    kill -TERM "$worker"
    [ $grace = 0 ] || until are_gone "$worker"; do
        kill -TERM "$worker" 2>/dev/null
        sleep 0.02
    done
    wait_for are_gone "$worker" "$(cat pids)"
    begin_worker -j1 --lease=1m
    wait_for pids 2
    : >go
    finished "a worker that hurries, --grace=$grace" 0
    is "a worker that hurries, --grace=$grace: output" 1 "$(cat "$out/got")"
    end_worker
done

# a job whose workers hurry has not failed, however many they are
run --on="$queue" --grace=0.2 -s "$wait_here echo \$1" ::: 1
for i in $(seq 6); do
    begin_worker -j1 --lease=1m --grace=1h
    wait_for pids "$i"
    until are_gone "$worker"; do
        kill -TERM "$worker" 2>/dev/null
        sleep 0.02
    done
done
begin_worker -j1 --lease=1m
: >go
finished 'six workers that hurry' 0
is 'six workers that hurry: output' 1 "$(cat "$out/got")"
end_worker

# the engine is killed, and all wait for it
begin_worker -j4
run --on="$queue*4" -s "$wait_here echo \$1" ::: $(seq 8)
wait_for pids 4
kill_engine
: >go
wait_for grep -q 'is away' "$out/err"
start_engine
finished 'the engine is killed' 0
is 'the engine is killed: output' "$(seq 8 | xargs)" "$(xargs <"$out/got")"
grep -q 'is there again' "$out/err" || fail "the engine is killed: $(cat "$out/err")"

# signals end the jobs with all that they have started, and nothing stays in the queue
tree='echo $$ >>pids; (sh -c "echo \$\$ >>pids; sleep 1000" & sleep 1000) & echo $! >>pids; wait'
for case in 'INT 130' 'TERM 143'; do
    run --on="$queue*2" -s "$tree" ::: 1 2 3
    wait_for pids 6
    kill -"${case% *}" $run
    finished "$case" "${case#* }"
    nothing_left || fail "$case: the queue has $(cli keys '*' | xargs)"
    # shellcheck disable=SC2046
    wait_for are_gone $(cat pids)
done
end_worker

# strange jobs, then strange results
zeros='\000\000\000\000'
version=$("$leat" map --version | cut -d' ' -f3)
hello="\\$(printf %03o $((${#version} + 1)))\\000\\000\\000\\001$zeros$version\\000"
old="\\006\\000\\000\\000\\001${zeros}0.0.1\\000"
begun="\\$(printf %03o $((${#version} + 10)))\\000\\000\\000\\001$zeros$version\\000"
begun+="$zeros$zeros\\000"
for bytes in garbage "$begun" "$begun\\005\\000\\000\\000\\003$zeros\\004$zeros" "$hello"; do
    : >"$out/worker"
    run --on="$queue" echo ::: 1
    wait_for given 1
    # shellcheck disable=SC2059
    printf "$bytes" | cli -x hset "leat:{map-q}:$(run_name):items" 0 >/dev/null
    begin_worker
    finished "a strange job: $bytes" 1
    grep -q 'job 1: no leat map or worker sends' "$out/err" ||
        fail "a strange job: $bytes: $(cat "$out/err")"
    grep -q 'refused .*/0: no leat map sends this' "$out/worker" ||
        fail "a strange job: $bytes: $(cat "$out/worker")"
    end_worker
done
# to another version, the worker sends its own, which a leat of that version reports
run --on="$queue" echo ::: 1
wait_for given 1
# shellcheck disable=SC2059
printf "$old" | cli -x hset "leat:{map-q}:$(run_name):items" 0 >/dev/null
begin_worker
finished 'a job of another version' 1
is 'a job of another version: output' '' "$(cat "$out/got")"
end_worker

# result FORMAT [NAME]: starts a run whose job 0 has the result that printf makes of it
result() {
    run --on="$queue" echo ::: 1
    wait_for given 1
    # shellcheck disable=SC2059
    printf "$1" | cli -x xadd "leat:{map-q}:$(run_name):results" '*' "${2:-0}" >/dev/null
}
# strange STATUS MESSAGE FORMAT [NAME]
strange() {
    result "${@:3}"
    finished "strange: $3" "$1"
    grep -q "$2" "$out/err" || fail "strange: $3: $(cat "$out/err")"
    is "strange: $3: output" '' "$(cat "$out/got")"
}
output="\\002\\000\\000\\000\\006${zeros}x\\n"
ran="\\023\\000\\000\\000\\014$zeros$zeros$zeros$zeros$zeros\\000"
ended="\\010\\000\\000\\000\\012$zeros$zeros$zeros"
result "$hello$output${ran}h\\000$ended"
finished 'a result by hand' 0
is 'a result by hand: output' x "$(cat "$out/got")"
for bytes in '' x '\377\377\377\377\001' "$hello" "$hello$output" "$hello$ended" \
    "$hello$output${ran}\\033\\000$ended" "$hello$output${ran}h\\000${ended}x"; do
    strange 1 'job 1: no leat map or worker sends' "$bytes"
done
strange 2 'a worker has version 0.0.1 of leat' "$old"
strange 2 'lost: ' x other
grep -q 'no machine is left' "$out/err" || fail "another field: $(cat "$out/err")"

finish
