#!/usr/bin/env bash
# The system refuses a read of a worker at a queue: no output is lost without a message.
. "$(dirname "$0")/redis_common.bash"
[ -z "${LEAT_SANITIZE:-}" ] || skip 'sanitizers make system calls of their own'
strace -o "$out/strace" true 2>/dev/null || skip 'there is no strace, which refuses calls here'

# refused FAULT ARGUMENT...: the worker, but not its jobs, meets the fault when it reads a pipe.
refused() {
    strace -D -f -b execve -qq -o "$out/strace" -e trace=readv,preadv2 \
        -e "inject=readv,preadv2:$1" "$leat" worker "$queue" 2>"$out/worker" &
    worker=$!
    disown
    workers_begun+=("$worker")
    map --on="$queue*1" "${@:2}" echo number ::: {1..5} >"$out/got" 2>"$out/err"
    status=$?
    end_worker
}

seq 5 | sed 's/^/number /' >wanted
refused error=ENOMEM:when=1..3
is 'for some time: status' 0 "$status"
same 'for some time' wanted "$out/got"
refused error=EIO --log=log
is 'status' 2 "$status"
grep -q ': the result of job 1 cannot be read: Input/output error$' "$out/err" ||
    fail "$(cat "$out/err")"
is 'output' '' "$(cat "$out/got")"
is 'the log, without its head' '' "$(sed 1d log)"
finish
