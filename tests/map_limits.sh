#!/usr/bin/env bash
# leat map where the system allows few processes: a thread counts as one, and jobs wait for others.
. "$(dirname "$0")/map_common.bash"

[ "$(id -u)" = 0 ] || skip 'only root can become a user who has no other process'
export user=$((2000000000 + $$))
chmod 755 "$work" "$work/tree"
install -m 755 "$leat" "$work/leat"
leat=$work/leat

# Runs a command as a user with at most N processes: limited N COMMAND...
cat >limited <<'LIMITED'
#!/bin/bash
ulimit -u "$1" || exit
shift
exec setpriv --reuid=$user --regid=$user --clear-groups "$@"
LIMITED
chmod +x limited
limited() {
    timeout -k 5 --foreground 120 ./limited "$@"
}
limited 100 "$leat" --version >/dev/null || skip 'another user cannot run leat'
limited 1 sh -c '(exit) & wait' 2>/dev/null && skip 'the limit of processes does not bind'

# All jobs run, and nothing is lost on the way to a file, which takes a thread. A job here starts no
# process, since that would fail.
seq 40 >numbers
job='echo "$1"; echo "$1" >&2'
for options in -j4 -j20 -j100 '-j4 --tag' '-j8 --retries=1 -u'; do
    # shellcheck disable=SC2086
    limited 8 "$leat" map $options -s "$job" <numbers >"$out/got" 2>"$out/err"
    is "$options: status" 0 $?
    for stream in got err; do
        sed 's/.*\t//' "$out/$stream" | sort -n | same "$options: $stream" numbers -
    done
done
# A file of items is read on while all threads have jobs.
seq 30000 >many
is 'many items' 30000 "$(limited 8 "$leat" map -j20 -n100 perl -e \
    'select undef, undef, undef, 0.01; print "$_\n" for @ARGV' <many 2>"$out/err" | wc -l)"
# A job that waits is not overtaken again and again: the first line comes long before the last job.
seq 400 >more
job='[ "$1" != 400 ] || exec cat got; echo "$1"'
limited 8 "$leat" map -j20 -s "$job" <more >got 2>"$out/err"
is 'in turn' 0 $?
[ "$(wc -l <got)" -gt 399 ] || fail "in turn: $(wc -l <got) lines"

# A worker on another machine, with jobs that could take from each other what each of them lacks.
processes=6 jobs=200 rounds=4
[ -z "${SLOW_BUILD-}" ] || processes=8 jobs=20 rounds=1
printf '#!/bin/sh\nshift 2\nexec ./limited %s %s "$@"\n' $processes "$leat" >rsh
chmod +x rsh
for ((round = 0; round < rounds; round++)); do
    LEAT_SSH=./rsh gives 'a worker' 0 "$(cat more)" --on="a*$jobs" -a more echo
done
# The thread of the first job leaves its place to the other jobs, which wait for one when it ends.
if [ -z "${SLOW_BUILD-}" ]; then
    sed -i 's/limited [0-9]*/limited 5/' rsh
    got=$({ echo 1; sleep 0.5; seq 2 3; } | LEAT_SSH=./rsh map --on='a*3' perl -e \
        'select undef, undef, undef, 1; print "@ARGV\n"' 2>"$out/err")
    is 'others wait when the first one ends' $'1\n2\n3' "$got"
fi

# Where not even one job can run, a message says so, and jobs do not wait for ever.
if [ -z "${SLOW_BUILD-}" ]; then
    limited 3 "$leat" map -j4 echo <numbers >"$out/got" 2>"$out/err"
    is 'no room: status' 2 $?
    is 'no room: output' '' "$(cat "$out/got")"
    grep -q '^leat map: echo: .*: no more jobs can run' "$out/err" || cat "$out/err"
    is 'no room: none has run, so none has failed' '' "$(grep 'failed' "$out/err")"
fi

# crowded COMMAND...: runs it. When a job of the user has begun, other processes of the user take
# all that the limit leaves, and then the first try of the first job fails. They stay until output
# comes or the run ends: LeakSanitizer needs a process at the end.
mkdir -m 777 begun
mkfifo output
crowded() {
    local crowd=() i pid run
    rm -f begun/job filled
    wait_for user_is_gone
    "$@" <numbers >output 2>"$out/err" &
    run=$!
    exec 3<output
    wait_for [ -e begun/job ]
    for ((i = 0; i < 8; i++)); do
        setpriv --reuid=$user --regid=$user --clear-groups sleep 120 &
        crowd+=($!)
    done
    for pid in "${crowd[@]}"; do
        wait_for grep -q sleep "/proc/$pid/comm"
    done
    touch filled
    head -c 1 <&3 >"$out/got"
    kill "${crowd[@]}"
    wait "${crowd[@]}" 2>/dev/null
    cat <&3 >>"$out/got"
    exec 3<&-
    wait $run
}
user_is_gone() { ! pgrep -u $user >"$out/pids"; }

# The first job is tried again when others have all processes, and these wait until it is printed.
# In a run with another machine, which is root's, the jobs there wait until the user's is lost.
export err=$out/err
job='
if [ "$1$LEAT_TRY" = 11 ]; then
    exec perl -e "select undef, undef, undef, 0.01 until -e q(filled); exit 1"
elif [ "$1" = 1 ]; then
    exec echo first
elif [ -w . ]; then
    until grep -q "^leat map: a: lost" "$err"; do sleep 0.1; done
else
    : >begun/job
fi
exec head -c 9M /dev/zero'
crowded limited 8 "$leat" map -j20 --retries=1 --backoff=0.5 --spill=0 -s "$job"
is 'all wait for one: status' 2 $?
grep -q '^leat map: .*: no more jobs can run' "$out/err" ||
    fail "all wait for one: $(cat "$out/err")"
# The same at a worker, which is given up then, but not if only the reader of the output is slow.
sed -i 's/limited [0-9]*/limited 8/' rsh
export LEAT_SSH=./rsh
status=2
for machines in 'a*20' 'a*20,:'; do
    crowded map --on="$machines" -j1 --retries=1 --backoff=0.5 --spill=0 -s "$job"
    is "all wait for one, $machines: status" $status $?
    grep -q '^leat map: a: lost: .* leave no room' "$out/err" ||
        fail "all wait for one, $machines: $(cat "$out/err")"
    status=0
done
is 'all wait for one: output' $((39 * 9 * 1024 * 1024 + 6)) "$(wc -c <"$out/got")"
job='[ "$1" != 1 ] || exec echo first; exec head -c 1M /dev/zero'
map --on='a*20' -u --spill=0 -s "$job" <numbers 2>"$out/err" | { sleep 4; wc -c; } >"$out/got"
is 'a slow reader' $((39 * 1024 * 1024 + 6)) "$(cat "$out/got")"

finish
