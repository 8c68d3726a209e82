#!/usr/bin/env bash
# leat map: faults of its peers. leat has none of them; a peer that is there shows its own.
. "$(dirname "$0")/map_common.bash"
has() { command -v "$1" >/dev/null; }
# GNU's; moreutils has another one.
has_parallel() {
    parallel --version 2>/dev/null | grep -q GNU
}
# A fault that a later version has no more is no failure here.
peer() {
    [ "$2" = "$3" ] && echo "no longer so: $1"
    :
}

# names
printf "it's\na b\n" >names
is 'names' $'[it\'s]\n[a b]' "$(map printf '[%s]\n' <names)"
xargs -n1 printf '[%s]\n' <names >"$out/peer" 2>/dev/null
peer 'xargs stops at a quote' $'[it\'s]\n[a b]' "$(cat "$out/peer")"
echo '$(echo run >&2)' >code
is 'code' '' "$(map -s 'echo "$1" >/dev/null' <code 2>&1)"
peer 'xargs -I in a script runs the name' '' "$(xargs -I{} sh -c 'echo {} >/dev/null' <code 2>&1)"

# no input
is 'no input' '' "$(map echo ran </dev/null)"
peer 'xargs runs the command once' '' "$(xargs echo ran </dev/null)"

# a failure ends the run when it is asked to
is 'halt' 1 "$(seq 5 | map -j1 --fail-fast -s 'echo "$1"; exit 1' 2>/dev/null)"
peer 'xargs goes on' 1 "$(seq 5 | xargs -n1 sh -c 'echo "$0"; exit 1' 2>/dev/null)"

# torn output
job='for i in 1 2 3 4; do head -c 40000 /dev/zero | tr "\0" "$1"; done; echo'
is 'torn' 4 "$(map -j4 -s "$job" ::: a b c d | tr -s a-d | grep -cE '^(a|b|c|d)$')"
peer 'xargs tears' 4 \
    "$(printf '%s\n' a b c d | xargs -P4 -n1 sh -c "$job" sh | tr -s a-d | grep -cE '^(a|b|c|d)$')"

# processes that are left
tree='echo $$ >>pids; sleep 77 & echo $! >>pids; wait'
has_pids() { [ -e pids ] && [ "$(wc -l <pids)" -ge 4 ]; }
# left: those that a tool has left when it has ended, which are ended then
left() {
    local pid
    while read -r pid; do
        are_gone "$pid" || echo left
        kill -KILL "$pid" 2>/dev/null
    done <pids
}
# after_signal SIGNAL TOOL...: sends the signal to a tool with two jobs, and waits for its end
after_signal() {
    local signal=$1
    shift
    rm -f pids
    "$@" >"$out/got" 2>&1 &
    run=$!
    wait_for has_pids
    kill -"$signal" $run
    wait $run 2>/dev/null
}
printf '1\n2\n' >two
printf 'all: 1 2\n1 2:\n\t@%s\n' "${tree//\$/\$\$}" >tree.mk
for signal in TERM HUP; do
    after_signal $signal "$leat" map -j2 -a two -s "$tree"
    is "$signal: processes left" '' "$(left)"
    after_signal $signal xargs -a two -P2 -n1 sh -c "$tree" sh
    peer "$signal to xargs leaves its jobs" '' "$(left)"
done
if has make; then
    after_signal TERM make -s -j2 -f tree.mk
    peer 'TERM to make leaves what its jobs have started' '' "$(left)"
fi

# Ctrl-C, of jobs that ignore it: all of the terminal's group gets the signal
after_ctrl_c() {
    rm -f pids
    env --default-signal setsid "$@" >"$out/got" 2>&1 &
    run=$!
    wait_for has_pids
    kill -INT -- -$run
    wait $run 2>/dev/null
}
deaf="trap '' INT; $tree"
after_ctrl_c "$leat" map -j2 --grace=0.2 -a two -s "$deaf"
is 'Ctrl-C: processes left' '' "$(left)"
after_ctrl_c xargs -a two -P2 -n1 sh -c "$deaf" sh
peer 'xargs leaves what ignores Ctrl-C' '' "$(left)"

# what a job leaves, which has its output
# takes MS COMMAND...: says so if it takes longer
takes() {
    local from to
    from=$(date +%s%N)
    "${@:2}" >"$out/got" 2>&1 </dev/null
    to=$(date +%s%N)
    [ $(((to - from) / 1000000)) -ge "$1" ] && echo long
}
is 'an output that is held' '' "$(takes 20000 map -s 'sleep 20 &' ::: a)"
if has ninja; then
    printf 'rule r\n command = sleep 2 &\nbuild a: r\n' >held.ninja
    peer 'ninja waits for what holds the output' '' "$(takes 2000 ninja -f held.ninja)"
fi

# standard input is not the jobs'
is 'standard input' '' "$(map cat ::: /dev/stdin <names)"
if has parallel.moreutils; then
    peer 'moreutils gives it to its jobs' '' "$(parallel.moreutils cat -- /dev/stdin <names)"
fi

# the reader goes
job='echo >>"$0"; sleep 0.01; echo'
seq 3000 | map sh -c "$job" begun | head -n 1 >"$out/got"
[ "$(wc -l <begun)" -lt 3000 ] || fail 'the reader has left, and all jobs have run'
if has parallel.moreutils; then
    # shellcheck disable=SC2046
    parallel.moreutils -j2 sh -c "$job" begun.peer -- $(seq 300) | head -n 1 >"$out/got"
    peer 'moreutils runs all' '' "$([ "$(wc -l <begun.peer)" = 300 ] && echo all)"
fi

# a failure that the status does not show
map false ::: x 2>/dev/null
is 'a failure: status' 1 $?
if has xjobs; then
    echo x | xjobs -v0 false >"$out/got" 2>&1
    peer 'xjobs does not report a failure' 1 $?
fi
if has pexec; then
    pexec -r x -- false >"$out/got" 2>&1
    peer 'pexec does not report a failure' 1 $?
fi

# a command that is not there is not looked for again
is 'not found: once' 1 "$(map nosuch ::: a b c 2>&1 | grep -c 'not found')"

# no pause between tries
begun=$(date +%s%N)
map --retries=2 --backoff=200ms false ::: a 2>/dev/null
[ $((($(date +%s%N) - begun) / 1000000)) -ge 600 ] || fail 'no pause between tries'

# a full folder for waiting output
full='[ $1 = 1 ] && sleep 0.5; head -c 20000000 /dev/zero'
can_be_full || echo 'skipped: a full temporary folder, since none can be mounted'
if can_be_full; then
    is 'a full temporary folder' 60000000 \
        "$(TMPDIR=$PWD/full on_full -j3 -s "$full" ::: 1 2 3 | wc -c)"
fi

if ! has_parallel; then
    echo 'skipped: the faults of GNU parallel, which is not there'
    finish
fi
export PARALLEL_HOME=$out/parallel
mkdir "$PARALLEL_HOME"
parallel() { command parallel --will-cite "$@"; }
# resume looks at the number alone
parallel --joblog peer.log echo ::: a b c >/dev/null 2>&1
peer 'parallel does not run what is new' $'NEW\nd' \
    "$(parallel -k --resume --joblog peer.log echo ::: NEW a b c d 2>/dev/null)"
# leat reads the log of the peer; the commands are written as the peer writes them
gives 'a log of parallel' 0 NEW --log=peer.log --resume echo ::: NEW a b c
perl -e 'print map { "$_\n" } map({ chr, "a" . chr() . "b" } 32 .. 126), "\xc3\xa9", "\x27\x27",
    "\x27a", "a\x27", "a\x27\x27b", "a b"' >names
parallel -j1 --joblog odd.log echo <names >/dev/null 2>&1
is 'a log of parallel, with all that can be printed' '' "$(map --log=odd.log --resume echo <names)"
parallel nosuch ::: a b c 2>"$out/err"
peer 'parallel looks for a missing command each time' 1 "$(grep -c 'not found' "$out/err")"
if can_be_full; then
    is_incomplete() {
        TMPDIR=$PWD/full in_full \
            parallel --will-cite -k -j3 -q sh -c "$full" sh ::: 1 2 3 2>"$out/err" | wc -c
    }
    peer 'parallel stops when its temporary folder is full' 60000000 "$(is_incomplete)"
fi
# when FILE TRIES: whether the first job has run before the last item is there
when() {
    local i
    echo "$1"
    for ((i = 0; i < $2; i++)); do
        [ ! -e "$1" ] || { echo early >when; return; }
        sleep 0.02
    done
    echo late >when
}
when now 1000 | map touch
is 'the first job is not late' early "$(cat when)"
when now.peer 50 | parallel --eta touch >/dev/null 2>&1
peer 'parallel --eta reads all items first' early "$(cat when)"
after_hup() {
    rm -f pids
    command parallel --will-cite -j2 sh -c "'$tree'" ::: 1 2 >/dev/null 2>&1 &
    run=$!
    wait_for has_pids
    kill -HUP $run
    sleep 0.5
    are_gone $run || echo runs
    kill -TERM $run
    sleep 0.2
    kill -KILL $run 2>/dev/null
    wait $run 2>/dev/null
    left >/dev/null
}
peer 'parallel ignores HUP' '' "$(after_hup)"
start=$(date +%s%N)
parallel --retries 4 false ::: a >/dev/null 2>&1
peer 'parallel does not pause' 1 $((($(date +%s%N) - start) / 1000000 >= 1500))

finish
