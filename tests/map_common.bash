# map_common.bash: functions that the tests of `leat map` share; sourced, not run.

. "$(dirname "${BASH_SOURCE[0]}")/command_common.bash"

# map ARGUMENT...: runs leat map; no test waits longer than two minutes for it.
map() {
    timeout -k 5 --foreground 120 "$leat" map "$@"
}

# gives WHAT STATUS WANTED ARGUMENT...: its status and output; messages are in $out/err.
gives() {
    local what=$1 status=$2 wanted=$3 got
    shift 3
    got=$(map "$@" 2>"$out/err")
    is "$what: status" "$status" $?
    is "$what: output" "$wanted" "$got"
}

# says WHAT STATUS MESSAGE ARGUMENT...: no output, and the message among its messages.
says() {
    local what=$1 status=$2 message=$3
    shift 3
    map "$@" >"$out/got" 2>"$out/err" </dev/null
    is "$what: status" "$status" $?
    is "$what: output" '' "$(cat "$out/got")"
    grep -qF -- "$message" "$out/err" || fail "$what: $(head -n 1 "$out/err")"
}

# late WHAT STATUS WANTED ARGUMENT...: the same with a time limit, where the job makes the file
# `begun` when it has come to the point. A slow machine may not let it: then with a longer limit.
late() {
    local limit got status
    for limit in 0.2 1 5 25; do
        rm -f begun
        got=$(map --timeout=$limit "${@:4}" 2>"$out/err")
        status=$?
        [ ! -e begun ] || break
    done
    is "$1: status" "$2" "$status"
    is "$1: output" "$3" "$got"
}

# can_be_full: whether a file system of 1 MiB can be mounted in the folder `full`.
can_be_full() {
    mkdir -p full && unshare -rm mount -t tmpfs -o size=1m none full 2>"$out/err"
}

# in_full COMMAND...: runs it where `full` is a new file system of 1 MiB, which goes with it.
in_full() {
    timeout -k 5 --foreground 120 \
        unshare -rm sh -c 'mount -t tmpfs -o size=1m none full && exec "$@"' sh "$@"
}
on_full() {
    in_full "$leat" map "$@"
}

# signal_again: sends SIGTERM to $run until it has ended; a second one may come before the first is
# seen, and is then lost.
signal_again() {
    until are_gone "$run"; do
        sleep 0.2
        kill -TERM "$run" 2>/dev/null
    done
}

state() {
    sed -n 's/^State:[^A-Z]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null
}

# stopped PID: a shell that is stopped between vfork and exec waits (D) for its child, which is.
stopped() {
    local child
    case $(state "$1") in
    T) return 0 ;;
    D) ;;
    *) return 1 ;;
    esac
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ "$(state "$child")" != T ] || return 0
    done
    return 1
}
running() { ! stopped "$1"; }

# stop_and_continue JOB: stops $run, with which the job's process stops, and lets both go on.
stop_and_continue() {
    kill -TSTP "$run"
    wait_for stopped "$run"
    wait_for stopped "$1"
    kill -CONT "$run"
    wait_for running "$run"
    wait_for running "$1"
}

# stops_the_clock ARGUMENT...: whether a stop is no part of the time of --timeout. A slow machine may
# need a longer limit, since the job ends too late before the stop.
stops_the_clock() {
    local limit job
    job='echo $$ >>pids; until [ -e go ]; do sleep 0.02; done; echo; sleep 0.3'
    for limit in 1 4 16; do
        rm -f pids go
        "$leat" map --timeout=$limit "$@" -s "$job" ::: 1 >"$out/got" 2>"$out/err" &
        run=$!
        until pids 1 || are_gone $run; do sleep 0.02; done
        kill -TSTP $run
        until stopped $run || are_gone $run; do sleep 0.02; done
        sleep $limit
        : >go
        kill -CONT $run
        wait "$run" && return
    done
    return 1
}

# are_gone PID...: none of them runs; a zombie does not.
are_gone() {
    local pid
    for pid; do
        case $(state "$pid") in
        '' | Z | X) ;;
        *) return 1 ;;
        esac
    done
}

# pids N: whether jobs have written N process numbers to `pids`
pids() {
    [ -e pids ] && [ "$(wc -l <pids)" -ge "$1" ]
}
