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
"$leat" map -j2 -s "$tree" ::: 1 2 &
run=$!
has_pids() { [ -e pids ] && [ "$(wc -l <pids)" -ge 4 ]; }
wait_for has_pids
kill -TERM $run
wait $run
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)

if has_parallel; then
    # resume looks at the number alone
    parallel --will-cite --joblog peer.log echo ::: a b c >/dev/null 2>&1
    peer 'parallel does not run what is new' $'NEW\nd' \
        "$(parallel --will-cite -k --resume --joblog peer.log echo ::: NEW a b c d 2>/dev/null)"
    # leat reads the log of the peer; the commands are written as the peer writes them
    gives 'a log of parallel' 0 NEW --log=peer.log --resume echo ::: NEW a b c
    # a full temporary folder
    # no pause between tries
    start=$SECONDS
    parallel --will-cite --retries 4 false ::: a >/dev/null 2>&1
    peer 'parallel does not pause' 1 $((SECONDS - start >= 1))
fi
start=$(date +%s%N)
map --retries=2 --backoff=200ms false ::: a 2>/dev/null
[ $((($(date +%s%N) - start) / 1000000)) -ge 600 ] || fail 'no pause between tries'

finish
