# redis_common.bash: an engine and workers at its queue, for the tests of `leat map --on=redis:`;
# sourced, not run.

. "$(dirname "${BASH_SOURCE[0]}")/on_common.bash"

command -v redis-server >/dev/null || skip 'redis-server is missing'
engine_dir=$work/engine
socket=$engine_dir/s
queue=redis+unix:$socket/q
mkdir "$engine_dir"
"$leat" map --on="$queue" --dry-run true ::: 1 2>&1 | grep -q 'without libleat-link' &&
    skip 'this leat is built without libleat-link'

cli() {
    redis-cli -s "$socket" "$@"
}
engine_answers() {
    [ "$(cli ping 2>/dev/null)" = PONG ]
}
# With "everysec" a killed engine may lose what it answered while it waited for a sync.
start_engine() {
    redis-server --port 0 --unixsocket "$socket" --dir "$engine_dir" --save '' --appendonly yes \
        --appendfsync always >"$engine_dir/log" 2>&1 &
    engine=$!
    disown # the shell does not report its end
    wait_for engine_answers
}
kill_engine() {
    kill -KILL "$engine"
    wait_for are_gone "$engine"
}

# begin_worker ARGUMENT...: $worker is its process number, and its messages are in $out/worker. Its
# lease is so short that it may lose a job on a busy machine.
begin_worker() {
    "$leat" worker "$queue" --lease=0.3 "$@" 2>>"$out/worker" &
    worker=$!
    disown
    workers_begun+=("$worker")
}
workers_begun=()
kill_worker() {
    kill -KILL "$1"
    wait_for are_gone "$1"
}
# end_worker: ends the worker that was begun last, which has no job
end_worker() {
    kill -TERM "$worker"
    wait_for are_gone "$worker"
}

# run ARGUMENT...: starts a run whose jobs write their process numbers to `pids`; $run is its own
run() {
    rm -f pids go
    : >"$out/got"
    : >"$out/err"
    env --default-signal "$leat" map "$@" >"$out/got" 2>"$out/err" &
    run=$!
}

# run_name: of the run that is in the queue
run_name() {
    cli smembers 'leat:{map-q}:runs'
}
# given N: the run has N jobs in the queue
given() {
    local name
    name=$(run_name)
    [ "$name" ] && [ "$(cli hget "leat:{map-q}:$name:run" published)" = "$1" ]
}
nothing_left() {
    [ -z "$(cli keys 'leat:{map-q}*')" ]
}

end_all() {
    local one
    for one in "${workers_begun[@]}"; do
        kill -KILL "$one" 2>/dev/null
    done
    kill -KILL "$engine"
    chmod -R u+rwx "$work" 2>/dev/null
    rm -rf "$work"
}
start_engine
trap end_all EXIT
