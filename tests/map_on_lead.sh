#!/usr/bin/env bash
# leat worker: the thread whose job ends receives what comes next, in place of the reader.
. "$(dirname "$0")/on_common.bash"

# run ARGUMENT...: starts a run of two jobs, and waits until the first one runs, and the second one
# has ended: its thread leads
run() {
    rm -f pid idle go
    "$leat" map "$@" <&0 >"$out/got" 2>"$out/err" &
    run=$!
    wait_for [ -s pid ]
    wait_for [ -s idle ]
    sleep 0.1
}
two='if [ $LEAT_SEQ = 2 ]; then echo $PPID >idle; exec cat; fi
    echo $$ >pid; until [ -e go ]; do sleep 0.02; done;'

# With one place, one thread alone wakes for each job. (TSan has a thread that wakes by time.)
switches='[ $1 = 100 ] || exit 0
    awk "/^voluntary/ && \$2 >= 100 { print \"busy\" }" /proc/$PPID/task/*/status'
[ -n "${LEAT_SANITIZE-}" ] ||
    gives 'one thread for a job' 0 busy --on='a*1' -s "$switches" ::: $(seq 100)

# While a thread leads, frames come for another job, and that job ends: credits, input, a signal.
run --on='a*2' -s "$two seq 300000" ::: 1 2
: >go
finished 'credits' 0
seq 300000 >"$out/wanted"
same 'credits: output' "$out/wanted" "$out/got"

seq 400000 >numbers
run --on='a*2' --pipe=1500K -s "$two cat" <numbers
: >go
finished 'input' 0
same 'input: output' numbers "$out/got"

for limit in 1 5 25; do # on a slow machine, neither job may have come that far after a second
    rm -f pid idle go
    map --on='a*2' --timeout=$limit -s "$two" ::: 1 2 2>"$out/err"
    is 'a signal: status' 1 $?
    [ ! -s pid ] || [ ! -s idle ] || break
done
wait_for are_gone "$(cat pid)"

# While a thread leads, the link ends, or the worker gets a signal: with a job, and without any.
run --on='a*2' -s "$two" ::: 1 2
kill -KILL $run
wait $run 2>/dev/null
wait_for are_gone "$(cat pid)" "$(worker a)"

run --on='a*2' -s "$two" ::: 1 2
kill -TERM "$(worker a)"
finished 'a worker gets SIGTERM' 2
wait_for are_gone "$(cat pid)" "$(worker a)"

run --on='a*1,b*1' -s "$two" ::: 1 2
kill -TERM "$(cat idle)"
wait_for grep -q lost "$out/err"
: >go
finished 'a worker without jobs gets SIGTERM' 0

# A link that is a file, which cannot be waited for.
version=$("$leat" worker --version)
version=${version##* }
size=$(printf '%02x' $((${#version} + 10)))
{
    printf "\\x$size\\000\\000\\000\\001"
    head -c 4 /dev/zero
    printf %s "$version"
    head -c 10 /dev/zero
} >frames
"$leat" worker <frames >"$out/got" 2>"$out/err"
is 'a file: status and messages' '0 ' "$? $(cat "$out/err")"
is 'a file: answer' $((${#version} + 14)) "$(wc -c <"$out/got")"
printf 'no frame of any kind' >>frames
"$leat" worker <frames >"$out/got" 2>"$out/err"
is 'a bad file: status' 2 $?

finish
