#!/usr/bin/env bash
# The example with three workers, over fewer items: one worker and the engine are killed, and each
# result comes once and in order. And it says so only then: not of a run that is cut short.
. "$(dirname "$0")/link_common.bash"
cluster=$LEAT_PROGRAMS/../../link/cluster
[ -x "$cluster" ] || skip 'the example is not built'
command -v redis-cli >/dev/null || skip 'redis-cli is missing'
items=5000
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$folder"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$folder/said" "$folder/err"
    exit 1
}

"$LEAT_SOURCE_DIR/link/examples/run" "$cluster" $items >"$folder/said" 2>"$folder/err" ||
    fail "status $?"
grep -q "^$items of $items results, in order, each once; 0 wrong;" "$folder/said" || fail 'a result'
for event in 'killing a worker' 'killing the engine' 'the engine is started again'; do
    grep -q "$event" "$folder/err" || fail "not printed: $event"
done

# A second near end takes the run away from the first, which then has not all results.
redis-server --port 0 --unixsocket "$folder/socket" --dir "$folder" --save '' --appendonly yes \
    --appendfsync always >"$folder/log" 2>&1 &
for ((i = 0; i < 300; i++)); do
    [ "$(redis-cli -s "$folder/socket" ping 2>/dev/null)" != PONG ] || break
    sleep 0.1
done
"$cluster" run "redis+unix:$folder/socket" 10 >"$folder/said" 2>"$folder/err" &
near=$!
published() { redis-cli -s "$folder/socket" hget 'leat:{collatz}:example:run' published; }
for ((i = 0; i < 300; i++)); do
    [ "$(published)" != 10 ] || break
    sleep 0.1
done
redis-cli -s "$folder/socket" hincrby 'leat:{collatz}:example:run' epoch 1 >/dev/null
! wait $near || fail 'a run that lost its place succeeds'
grep -q '^0 of 10 results; 0 wrong;' "$folder/said" || fail 'what a run says that was cut short'
