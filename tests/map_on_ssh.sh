#!/usr/bin/env bash
# leat map --on by a real ssh, to its own server on its own port.
. "$(dirname "$0")/on_common.bash"
. "$LEAT_SOURCE_DIR/tests/sshd_common.bash"
start_sshd || skip "$why"
export LEAT_SSH="ssh -F $work/client -o BatchMode=yes"

gives 'order' 0 "$(seq 50)" --on='here*2,there*2' echo ::: $(seq 50)
is 'one connection for each machine' 3 "$(grep -c 'Accepted publickey' "$out/server")"
seq 300000 >"$out/wanted"
map --on='here*2,there*1' --pipe=64K cat <"$out/wanted" >"$out/got"
same 'bytes' "$out/wanted" "$out/got"
gives 'arguments are not seen by a shell' 0 "a b; \$HOME '\"" --on=here printf %s \
    ::: "a b; \$HOME '\""
gives 'one cannot be reached' 0 1 --on=closed,here echo ::: 1
grep -q 'closed: ssh: connect to host 127.0.0.1 port 1: Connection refused' "$out/err" ||
    fail "closed: $(cat "$out/err")"

# leat is killed: what it ran there ends
"$leat" map --on=here --dir="$PWD" -s 'echo $$ >pids; sleep 1000 & wait' ::: 1 &
run=$!
wait_for [ -s pids ]
kill -KILL $run
# shellcheck disable=SC2046
wait_for are_gone $(cat pids)

# the way to a machine breaks: its jobs begin again
rm pids
waits='echo $$ >>pids; until [ -e go ]; do sleep 0.02; done; echo $1'
"$leat" map --on='here*1,there*1' --dir="$PWD" -s "$waits" ::: 1 2 3 >"$out/got" 2>"$out/err" &
run=$!
two() { [ -e pids ] && [ "$(wc -l <pids)" -ge 2 ]; }
wait_for two
pkill -KILL -P $run -f 'ssh.* here leat worker'
wait_for grep -q 'here: lost' "$out/err"
: >go
wait $run
is 'a way breaks: status' 0 $?
is 'a way breaks: output' '1 2 3' "$(xargs <"$out/got")"

# ways break at random moments, by the death of ssh here or of the worker there: each item comes
# once and in order, in the output and in the log, as long as this machine is left
seed=${LEAT_SEED:-$RANDOM}
RANDOM=$seed
rounds=3
[ -z "${LEAT_LONG-}" ] || rounds=8
numbers=$(seq 200)
for round in $(seq $rounds); do
    rm -f log
    # shellcheck disable=SC2086
    "$leat" map --on='here*3,there*3,:*1' --log=log \
        -s 'sleep 0.0$((RANDOM % 4)); seq $1 $(($1 + 99))' ::: $numbers >"$out/got" 2>"$out/err" &
    run=$!
    wait_for [ -s log ]
    for host in here there; do
        sleep 0.$((RANDOM % 5))$((RANDOM % 10))
        way=$(pgrep -P $run -f "ssh.* $host leat worker" | head -n 1)
        # the server has a process for each way, and below it the worker
        [ $((RANDOM % 2)) = 0 ] || way=$(pgrep -x -f 'leat worker' | while read -r worker; do
            up=$worker
            while [ "${up:-1}" -gt 1 ] && [ "$up" != "$server" ]; do
                up=$(awk '/^PPid/ { print $2 }' "/proc/$up/status" 2>/dev/null)
            done
            [ "$up" != "$server" ] || echo "$worker"
        done | head -n 1)
        [ -z "$way" ] || kill -KILL "$way" 2>/dev/null
    done
    wait $run
    is "seed $seed, round $round: status" 0 $?
    for i in $numbers; do seq "$i" $((i + 99)); done >"$out/wanted"
    same "seed $seed, round $round: output" "$out/wanted" "$out/got"
    is "seed $seed, round $round: log" "$(xargs <<<"$numbers")" \
        "$(tail -n +2 log | cut -f1 | sort -n | xargs)"
done

finish
