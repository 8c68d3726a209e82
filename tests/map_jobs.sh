#!/usr/bin/env bash
# leat map: how many jobs run, how they fail, are tried again, and end the run.
. "$(dirname "$0")/map_common.bash"

# exactly n, and never more: each job holds a lock file of its place
seq 60 | map -j3 -s 'mkdir "place.$LEAT_SLOT" || echo twice; sleep 0.02; rmdir "place.$LEAT_SLOT"
    [ "$LEAT_SLOT" -le 3 ] || echo high' >"$out/got" 2>&1
is 'places' '' "$(cat "$out/got")"
# all n run together: each waits for the others
gives 'n at a time' 0 '' -j4 -s ': >"here.$1"; while [ ! -e here.1 ] || [ ! -e here.2 ] ||
    [ ! -e here.3 ] || [ ! -e here.4 ]; do sleep 0.01; done' ::: 1 2 3 4
# by default one for each core that may be used; a quota counts, unlike with nproc
cores=$("$LEAT_PROGRAMS/cores")
gives 'one for each core' 0 '' -s ': >"core.$1"; until [ "$(ls core.* | wc -l)" -ge "$2" ]
    do sleep 0.01; done' ::: $(seq "$cores") ::: "$cores"
one=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
is 'on one core' '' "$(taskset -c "$one" "$leat" map \
    -s 'mkdir alone || echo two; sleep 0.02; rmdir alone' ::: 1 2 3 2>&1)"
gives 'one at a time' 0 $'1\n2\n3' -j1 -s 'mkdir alone; echo "$1"; rmdir alone' ::: 1 2 3

# statuses
gives 'failures' 1 $'0\n3\n0' -s 'echo "$1"; exit "$1"' ::: 0 3 0
grep -qx 'leat map: 1 of 3 jobs failed' "$out/err" || fail "failures: $(cat "$out/err")"
gives 'signals' 1 '' -s 'kill -9 $$' ::: a
says 'not found' 127 'nosuch: command not found' nosuch ::: a b c d
is 'not found: printed once' 1 "$(wc -l <"$out/err")"
printf '#!/nosuch\n' >script
chmod +x script
says 'its interpreter is not found' 126 './script: its interpreter is not found' ./script ::: a
says 'an empty name' 127 "'': command not found" '' ::: a
mkdir gone
says 'the folder goes' 2 'gone: No such file or directory' --dir=gone -j1 -s 'rmdir ../gone' ::: a b
mkdir in
mv script in
says 'the interpreter of a script in a folder' 126 './script: its interpreter is not found' \
    --dir=in ./script ::: a
says 'not to be run' 126 'Permission denied' /etc ::: a b c d
is 'not to be run: printed once' 1 "$(wc -l <"$out/err")"

# tries
gives 'tries' 0 $'3a\n3b' --retries=2 --backoff=10ms \
    -s 'echo "$LEAT_TRY$1"; [ "$LEAT_TRY" = 3 ]' ::: a b
gives 'tries that do not help' 1 '2' --retries=1 --backoff=1ms -s 'echo "$LEAT_TRY"; exit 1' ::: a
map --retries=1 --backoff=1ms -s 'echo "$LEAT_TRY" >&2; exit 1' ::: a 2>"$out/err"
is 'errors of each try' '1 2' "$(head -n 2 "$out/err" | xargs)"
# The place is free meanwhile: one job waits until the job after it has run.
gives 'a place meanwhile' 0 $'1\n2' -j1 --retries=6 --backoff=100ms \
    -s '[ "$1" = 2 ] && : >ran; [ -e ran ] && echo "$1"' ::: 1 2

# A retry needs no further item: none comes, or can begin, before the job has succeeded; or the list
# ends in the pause.
script=': >"try.$1.$LEAT_TRY"; [ "$LEAT_TRY" = 2 ] && echo "$1"'
is 'a retry before the next item' $'a\nb' "$( (echo a; wait_for test -e try.a.2; echo b) |
    map -j1 --retries=1 --backoff=1ms -s "$script")"
is 'a retry after the last item' c "$( (echo c; wait_for test -e try.c.1) |
    map -j1 --retries=1 --backoff=300ms -s "$script")"
gives 'a retry with a full window' 0 $'1\n2\n3' -j1 --window=1 --retries=1 --backoff=1ms \
    -s "$script" ::: 1 2 3

# A place that is lent is not waited for: the third job takes long.
is 'a place that was lent' 'one two' "$(map -j1 --spill=0 --retries=1 --backoff=0.3 -s 'case $1 in
    1) [ "$LEAT_TRY" = 2 ] || exit 1; sleep 0.3; echo one;;
    2) head -c 9000000 /dev/zero | tr "\0" "\n"; echo two; : >second;;
    *) while [ ! -e second ]; do sleep 0.05; done;; esac' ::: 1 2 3 | xargs)"

# time limits
late 'timeout' 1 a -s 'echo a; : >begun; sleep 100' ::: a
late 'timeout, deaf' 1 '' --grace=0.2 \
    -s 'trap "" TERM; : >begun; while :; do sleep 1; done' ::: a
# A reader that is slow does not make a job late. A slow machine may.
for limit in 1 5 25; do
    size=$(map -j2 --timeout=$limit -s 'head -c 2000000 /dev/zero' ::: a b 2>"$out/err" |
        (sleep $((limit + 1)); wc -c))
    [ "$size" != 4000000 ] || break
done
is 'timeout, a slow reader' 4000000 "$size"
# with everything that the job has started
tree='echo $$ >>pids; (sh -c "echo \$\$ >>pids; sleep 1000" & sleep 1000) & echo $! >>pids; wait'
late 'timeout, a tree' 1 '' -s "${tree%wait}until [ \$(wc -l <pids) -ge 3 ]; do sleep 0.02; done
    : >begun; wait" ::: a
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)
# which has the grace to end in
late 'timeout, the rest of a group' 1 late --grace=1h -s '(trap "sleep 0.1
    echo late; exit" TERM; exec 2>&-; : >begun; while :; do sleep 0.02; done) &
    exec sleep 100' ::: a
for factor in 20 100 500; do # the machine may make others late, too
    seq 12 | map -j2 --timeout=${factor}x \
        -s 'if [ "$1" = 12 ]; then sleep 1000; else sleep 0.05; fi' 2>"$out/err"
    is 'times the median' 1 $?
    ! grep -q '1 of 12' "$out/err" || break
done
grep -q '1 of 12' "$out/err" || fail "times the median: $(cat "$out/err")"

# halts
gives 'soon' 1 '1' -j1 --halt=soon,fail=1 -s 'echo "$1"; exit 1' ::: 1 2 3
grep -q 'halted' "$out/err" || fail "soon: $(cat "$out/err")"
gives 'now' 1 '1' -j2 --halt=now,fail=1 \
    -s 'echo "$1"; [ "$1" = 1 ] || exec sleep 100; sleep 0.1; exit 1' \
    ::: 1 2 3
# which does not wait for jobs
gives 'now is now' 1 '' -j2 --halt=now,fail=1 -s '[ "$1" = 1 ] || exec sleep 1000; exit 1' ::: 1 2
# nor leaves anything of them
rm pids
gives 'now, a tree' 1 '' -j2 --halt=now,fail=1 -s "if [ \$1 = 1 ]; then $tree; fi
    until [ -e pids ] && [ \$(wc -l <pids) -ge 3 ]; do sleep 0.02; done; exit 1" ::: 1 2
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)
# Where there is no /proc, which shows what is left of a group, it is killed without a grace.
if unshare -rm mount -t tmpfs none /proc 2>"$out/err" && [ -z "${LEAT_SANITIZE:-}" ]; then
    rm pids
    timeout -k 5 --foreground 120 unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
        "$leat" map -j2 --fail-fast --grace=1h -s 'if [ $1 = 1 ]; then
            (trap "" TERM; exec sh -c "echo \$\$ >pids; exec sleep 1000") & exec sleep 1000; fi
        until [ -s pids ]; do sleep 0.02; done; exit 1' ::: 1 2 2>"$out/err"
    is 'now, without /proc: status' 1 $?
    wait_for are_gone "$(cat pids)"
fi
gives 'fail fast' 1 '' --fail-fast -j2 -s '[ "$1" = 1 ] || exec sleep 100; exit 1' ::: 1 2 3
gives 'success' 0 '2' -j1 --halt=now,success=1 -s '[ "$1" = 2 ] && echo "$1"' ::: 1 2 3
gives 'done' 1 $'1\n2' -j1 --halt=soon,done=2 echo ::: 1 2 3 4
seq 40 >numbers
map -j1 --halt=soon,fail=50% -s 'echo "$1"; exit $(($1 % 2))' <numbers >"$out/got" 2>"$out/err"
is 'per cent: status' 1 $?
is 'per cent: from ten jobs on' 10 "$(wc -l <"$out/got")"
map -j1 --halt=soon,fail=60% -s 'exit $(($1 % 2))' <numbers 2>"$out/err"
grep -q '20 of 40' "$out/err" || fail "per cent, not reached: $(cat "$out/err")"

# The run ends while items are passed by that the log has: that is no trouble with the items.
job='[ "$1" != 10 ]'
perl -e 'sub put { print join("\t", @_), "\n" }
    put qw(Seq Host Starttime JobRuntime Send Receive Exitval Signal Command);
    put $_, ":", (0) x 6, "sh -c \x27$ARGV[0]\x27 sh $_" for 101 .. 200000' "$job" >long_log
{ seq 24; seq 101 200000; } |
    map -j1 --halt=soon,fail=1 --log=long_log --resume -s "$job" 2>"$out/err"
is 'halted while items are passed by: status' 1 $?
is 'halted while items are passed by' 'leat map: halted: 1 of 10 jobs failed' "$(cat "$out/err")"

# a daemon that keeps the output is not waited for, and stays
map -s 'sleep 60 & echo $!' ::: a >"$out/got"
daemon=$(cat "$out/got")
are_gone "$daemon" && fail 'a daemon was killed'
kill "$daemon"
# nor is what a job leaves that closes its output
gives 'an output that is closed' 0 '' -s 'exec >&- 2>&-; sleep 0.1' ::: a b
# a job that stops itself: the time limit ends it
gives 'stops itself' 1 '' --timeout=0.3 -s 'kill -STOP $$' ::: a
# how far they run ahead: 3 after the first one in line, and no more
mkdir ahead
"$leat" map -j2 --window=4 \
    -s ': >ahead/$1; [ $1 != 1 ] || until [ -e behind ]; do sleep 0.02; done' ::: 1 2 3 4 5 6 7 8 &
run=$!
are_ahead() { [ "$(ls ahead | wc -l)" -ge "$1" ]; }
wait_for are_ahead 4
sleep 0.3
is 'window' '1 2 3 4' "$(ls ahead | xargs)"
: >behind
wait $run
is 'window: status' 0 $?
is 'window: all' 8 "$(ls ahead | wc -l)"
# A window that is smaller than the number of places has their number.
gives 'a small window' 0 '' -j4 --window=1 -s ': >"met.$1"; while [ ! -e met.1 ] ||
    [ ! -e met.2 ] || [ ! -e met.3 ] || [ ! -e met.4 ]; do sleep 0.01; done' ::: 1 2 3 4

# few descriptors: the jobs wait for them
is 'few descriptors' 40 "$(ulimit -n 24; map -j8 -s 'echo "$1"' <numbers | wc -l)"
is 'few descriptors for many' 60 \
    "$(ulimit -n 40; seq 60 | map -j20 -s 'sleep 0.01; echo "$1"' | wc -l)"
is 'few descriptors for files' 60 \
    "$(ulimit -n 60; seq 60 | map -j20 -o 'few.{}' -s 'sleep 0.01; echo "$1"'; cat few.* | wc -l)"
# arguments that are too long are a job's failure
perl -e 'print "x" x 200000, "\ny\n"' | map echo 2>"$out/err" >"$out/got"
is 'too long: status' 1 $?
is 'too long: others' y "$(cat "$out/got")"
is 'too long: which' 'leat map: job 1: echo: Argument list too long' "$(head -n 1 "$out/err")"

finish
