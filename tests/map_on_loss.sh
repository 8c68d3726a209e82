#!/usr/bin/env bash
# leat map --on: machines that are lost, and runs that end early.
. "$(dirname "$0")/on_common.bash"

# run ARGUMENT...: starts a run whose jobs write their process numbers to `pids`; $run is its own
run() {
    rm -f pids go
    : >"$out/got"
    : >"$out/err"
    "$leat" map "$@" >"$out/got" 2>"$out/err" &
    run=$!
}

# the jobs of a worker that is killed begin again elsewhere: each item once, in order, once logged
run --on='a*3,b*2' --log=log -s "$wait_here echo \$1" ::: $(seq 40)
wait_for pids 5
kill -KILL "$(worker a)"
: >go
finished 'a worker is killed' 0
is 'a worker is killed: output' "$(seq 40 | xargs)" "$(xargs <"$out/got")"
is 'a worker is killed: log' "$(seq 40 | xargs)" "$(tail -n +2 log | cut -f1 | sort -n | xargs)"
is 'a worker is killed: hosts' b "$(tail -n +2 log | cut -f2 | sort -u)"
is 'a worker is killed: messages' 'leat map: a: lost' "$(cat "$out/err")"
rm log

# so do those with an input, with files, without order, with tags, by lines
seq 100000 >numbers
for how in -u --tag -l "-o files/{}" --retries=3; do
    mkdir -p files
    # shellcheck disable=SC2086
    run --on='a*2,b*2' $how -s "$wait_here echo \$1; seq 5000" ::: $(seq 12)
    wait_for pids 4
    kill -KILL "$(worker a)"
    : >go
    finished "$how" 0
    [ "$how" != "-o files/{}" ] || cat files/* >"$out/got"
    is "$how: output" 60012 "$(wc -l <"$out/got")"
    rm -rf files
done
rm -f pids go
"$leat" map --on='a*2,b*2' --pipe=20K -s "$wait_here cat" <numbers >"$out/got" 2>"$out/err" &
run=$!
wait_for pids 4
kill -KILL "$(worker a)"
: >go
finished 'input' 0
same 'input: output' numbers "$out/got"

# A part of its output is printed when its machine is lost. The printed part comes again and is not
# printed twice; if it comes otherwise, the job fails, and nothing of the other try is printed.
streams='echo $$ >>pids; seq 3000; echo heard >&2
    until [ -e go ]; do sleep 0.02; done; seq 3001 6000'
heard() {
    grep -q heard "$out/err" && [ "$(wc -l <"$out/got")" -ge 3000 ]
}
for how in '' -l; do
    # shellcheck disable=SC2086
    run --on='a*1,slow*1' $how -s "$streams" ::: 1
    wait_for heard
    : >"$WORKERS/go"
    kill -KILL "$(worker a)"
    wait_for pids 2
    : >go
    finished "printed $how" 0
    seq 6000 >"$out/wanted"
    same "printed $how: output" "$out/wanted" "$out/got"
    rm "$WORKERS/go"
done
for other in 'seq 2999; echo 3001; seq 5000' 'seq 100'; do
    otherwise="if [ -e twice ]; then $other; exit; fi; : >twice; $streams"
    run --on='a*1,slow*1' --log=log -s "$otherwise" ::: 1
    wait_for heard
    : >"$WORKERS/go"
    kill -KILL "$(worker a)"
    finished 'printed otherwise' 1
    is 'printed otherwise: output' "$(seq 3000 | xargs)" "$(xargs <"$out/got")"
    is 'printed otherwise: log' '-1 1' "$(tail -n 1 log | cut -f7,8 | xargs)"
    grep -q 'did not print the same again' "$out/err" || fail "otherwise: $(cat "$out/err")"
    rm -f "$WORKERS/go" twice log
done

# the same when the job begins again here: job 1 has the place here until job 2 is lost
otherwise="if [ -e twice ]; then seq 2999; echo 3001; exec sleep 20; fi; : >twice; $streams"
run --on='a*1,:*1' -l --log=log -s "if [ \$1 = 1 ]; then $wait_here exit; fi; $otherwise" ::: 1 2
wait_for heard
kill -KILL "$(worker a)"
wait_for grep -q 'a: lost' "$out/err"
: >go
finished 'printed otherwise here' 1
is 'printed otherwise here: output' "$(seq 3000 | xargs)" "$(xargs <"$out/got")"
is 'printed otherwise here: log' '2 : -1 1' "$(tail -n 1 log | cut -f1,2,7,8 | xargs)"
rm -f twice log

# and when a second machine is lost that has printed otherwise: what the first one printed is owed
thrice='echo $$ >>pids; case $(wc -l <pids) in
    1) seq 3000; echo heard >&2; until [ -e go ]; do sleep 0.02; done ;;
    2) trap "" TERM; seq 10001 20000; : >second; while :; do sleep 1; done ;;
    *) seq 10001 20000 ;;
    esac'
run --on='a*1,slow1*1,slow2*1' --grace=1h -s "$thrice" ::: 1
wait_for heard
: >"$WORKERS/go"
kill -KILL "$(worker a)"
wait_for [ -e second ]
second=$(awk '/^PPid/ { print $2 }' "/proc/$(tail -n 1 pids)/status")
kill -KILL "$second"
finished 'printed otherwise twice' 1
is 'printed otherwise twice: output' "$(seq 3000 | xargs)" "$(xargs <"$out/got")"
: >go
kill -KILL "$(sed -n 2p pids)" 2>/dev/null
rm -f second "$WORKERS/go"

# A machine is lost while its job waits for room, and the run has taken leave of it when the job has
# its turn. 8 MiB are held in memory.
{ echo first; seq 2000000; } >"$out/wanted"
written() {
    local n
    n=$(sed -n 's/^wchar: //p' "/proc/$1/io" 2>/dev/null)
    [ "${n:-0}" -gt $((8 << 20)) ]
}
run --on='a*1,slow*1' --spill=0 -s "if [ \$1 = 1 ]; then $wait_here echo first; exit; fi
    echo \$\$ >>pids; exec seq 2000000" ::: 1 2
wait_for pids 1
: >"$WORKERS/go"
wait_for pids 2
wait_for written "$(tail -n 1 pids)"
kill -KILL "$(worker slow)"
wait_for grep -q 'slow: lost' "$out/err"
: >go
finished 'lost while its job waits for room' 0
same 'lost while its job waits for room: output' "$out/wanted" "$out/got"
rm "$WORKERS/go"

# no machine is left
run --on='a*2' --log=log -s "$wait_here" ::: 1 2 3 4
wait_for pids 2
kill -KILL "$(worker a)"
finished 'none is left' 2
grep -q 'no machine is left' "$out/err" || fail "none is left: $(cat "$out/err")"
is 'none is left: log' 1 "$(wc -l <log)"
: >go
gives 'none is left: resumed' 0 '' --on='b*2' --log=log --resume -s "$wait_here" ::: 1 2 3 4
is 'none is left: log of both' 5 "$(wc -l <log)"

# A process that ssh has left behind holds its pipes: the connection has ended all the same.
run --on='tunnel*1,b*1' -s "$wait_here echo \$1" ::: 1 2 3
wait_for pids 2
kill -KILL "$(worker tunnel)"
wait_for grep -q 'tunnel: lost' "$out/err"
: >go
kill "$(worker held)"
finished 'held pipes' 0
is 'held pipes: output' '1 2 3' "$(xargs <"$out/got")"
gives 'held pipes before a hello' 0 $'1\n2' --on='silent-tunnel*1,b*1' echo ::: 1 2
kill "$(worker held)"
says 'a worker that ssh leaves behind' 2 'no machine is left' --on='leaves*1' \
    -s 'until [ -e never ]; do sleep 0.02; done' ::: 1
wait_for are_gone "$(worker held)"

# killed workers at random moments
for round in 1 2 3 4 5; do
    : >go
    "$leat" map --on='a*2,b*2,c*2' -s 'sleep 0.0$((RANDOM % 4)); seq $1 $(($1 + 500))' \
        ::: $(seq 300) >"$out/got" 2>"$out/err" &
    run=$!
    wait_for [ -e "$WORKERS/a" ]
    sleep 0.$((RANDOM % 4))$((RANDOM % 10))
    kill -KILL "$(worker a)" 2>/dev/null
    finished "round $round" 0
    for i in $(seq 300); do seq $i $((i + 500)); done >"$out/wanted"
    same "round $round: output" "$out/wanted" "$out/got"
    rm -f "$WORKERS"/*
done

# signals end the jobs with all that they have started, and the log is whole
tree='echo $$ >>pids; (sh -c "echo \$\$ >>pids; sleep 1000" & sleep 1000) & echo $! >>pids; wait'
for case in 'INT 130' 'TERM 143' 'HUP 129'; do
    rm -f pids
    env --default-signal "$leat" map --on='a*1,b*1' -s "$tree" ::: 1 2 3 >"$out/got" 2>"$out/err" &
    run=$!
    wait_for pids 6
    kill -"${case% *}" $run
    finished "$case" "${case#* }"
    # shellcheck disable=SC2046
    wait_for are_gone $(cat pids) "$(worker a)" "$(worker b)"
done
deaf='trap "" TERM; echo $$ >>pids; while :; do sleep 1; done'
for grace in 0.2 1h; do # the second time, a second signal
    run --on='a*2' --grace=$grace -s "$deaf" ::: 1 2
    wait_for pids 2
    kill -TERM $run
    [ $grace = 0.2 ] || signal_again
    finished "deaf, --grace=$grace" 143
    # shellcheck disable=SC2046
    wait_for are_gone $(cat pids)
done

# leat is killed: a worker whose link is gone ends its groups, and itself
run --on='a*1' -s "$tree" ::: 1
wait_for pids 3
kill -KILL $run
wait $run 2>/dev/null
# shellcheck disable=SC2046
wait_for are_gone $(cat pids) "$(worker a)"

# a signal goes to a worker only
run --on='a*1,b*1' -s "$wait_here echo \$1" ::: 1 2
wait_for pids 2
kill -TERM "$(worker a)"
wait_for grep -q lost "$out/err"
: >go
finished 'a worker gets SIGTERM' 0
is 'a worker gets SIGTERM: output' '1 2' "$(xargs <"$out/got")"

# a signal that a worker ignores from its start
run --on='nohup*1' -s "$wait_here echo \$1" ::: 1
wait_for pids 1
kill -HUP "$(worker nohup)"
sleep 0.2
: >go
finished 'a worker ignores HUP' 0
is 'a worker ignores HUP: messages' '' "$(cat "$out/err")"

# a worker that does not answer is given up: after a second signal within a second
run --on='a*1' -s "$wait_here" ::: 1
wait_for pids 1
kill -STOP "$(worker a)"
kill -TERM $run
signal_again
finished 'a worker that hangs' 143
: >go

# stop and continue
run --on='a*1' -s "$wait_here" ::: 1
wait_for pids 1
stop_and_continue "$(cat pids)"
: >go
finished 'stopped and continued' 0
stops_the_clock --on='a*1' || fail 'a stop counts for --timeout'

finish
