#!/usr/bin/env bash
# The system refuses a call of leat map: no output is lost without a message, and no file of which
# nothing is known is replaced.
. "$(dirname "$0")/map_common.bash"
[ -z "${LEAT_SANITIZE:-}" ] || skip 'sanitizers make system calls of their own'
strace -o "$out/strace" true 2>/dev/null || skip 'there is no strace, which refuses calls here'

# refused CALLS FAULT ARGUMENT...: leat map, but not its jobs, meets the fault.
refused() {
    timeout -k 5 --foreground 120 strace -f -b execve -qq -o "$out/strace" -e "trace=$1" \
        -e "inject=$1:$2" "$leat" map "${@:3}" >"$out/got" 2>"$out/all.err"
    status=$?
    grep -v '^strace: ' "$out/all.err" >"$out/err"
}

# The output of jobs.
seq 5 | sed 's/^/number /' >wanted
refused ioctl error=EPERM -j2 echo number ::: {1..5}
is 'ioctl: status' 0 "$status"
same 'ioctl' wanted "$out/got"
refused readv,preadv2 error=ENOMEM:when=1..3 -j2 echo number ::: {1..5}
is 'read, for some time: status' 0 "$status"
same 'read, for some time' wanted "$out/got"
refused readv,preadv2 error=EIO --log=log -j1 echo number ::: {1..5}
is 'read: status' 2 "$status"
is 'read: messages' 'leat map: the output of job 1 cannot be read: Input/output error' \
    "$(cat "$out/err")"
is 'read: output' '' "$(cat "$out/got")"
is 'read: the log, without its head' '' "$(sed 1d log)"

# How a job has ended.
rm log
refused waitid error=EPERM --log=log -j1 echo number ::: 1
is 'status: status' 2 "$status"
is 'status: messages' 'leat map: the status of job 1 cannot be read: Operation not permitted' \
    "$(cat "$out/err")"
is 'status: the log, without its head' '' "$(sed 1d log)"

# The same of a worker, which stands for ssh here.
cat >ssh <<'SSH'
#!/bin/sh
exec strace -f -b execve -qq -o "$0.strace" -e "trace=$CALLS" -e "inject=$CALLS:$FAULT" \
    "$LEAT_BIN" worker
SSH
chmod +x ssh
# refused_there CALLS FAULT ARGUMENT...: the worker, but not its jobs, meets the fault.
refused_there() {
    CALLS=$1 FAULT=$2 LEAT_SSH=./ssh map --on='a*1' "${@:3}" >"$out/got" 2>"$out/err"
    status=$?
}
refused_there readv,preadv2 error=ENOMEM:when=1..3 echo number ::: {1..5}
is 'a worker reads, for some time: status' 0 "$status"
same 'a worker reads, for some time' wanted "$out/got"
rm log
refused_there readv,preadv2 error=EIO --log=log echo number ::: {1..5}
is 'a worker reads: status' 2 "$status"
is 'a worker reads: messages' \
    'leat map: a: the result of job 1 cannot be read: Input/output error' "$(cat "$out/err")"
is 'a worker reads: output' '' "$(cat "$out/got")"
is 'a worker reads: the log, without its head' '' "$(sed 1d log)"
# The pipes are still open when the job has ended.
rm log
refused_there ioctl error=EIO --log=log -s 'tail -f /dev/null & echo $! >held; echo number' ::: 1
kill "$(cat held)"
is 'a worker asks for the rest: status' 2 "$status"
is 'a worker asks for the rest: messages' \
    'leat map: a: the result of job 1 cannot be read: Input/output error' "$(cat "$out/err")"
is 'a worker asks for the rest: the log, without its head' '' "$(sed 1d log)"
refused_there waitid error=EPERM echo number ::: 1
is 'a worker waits: status' 2 "$status"
is 'a worker waits: messages' \
    'leat map: a: the result of job 1 cannot be read: Operation not permitted' "$(cat "$out/err")"

# What --output would replace.
calls='?lstat,?stat,?fstat,newfstatat'
echo old >target
ln -s target link
strace -f -b execve -qq -o "$out/strace" -P link -e "trace=$calls" \
    -e "inject=$calls:error=EIO:when=1" "$leat" map -j1 -o {} echo ::: link 2>"$out/err"
is 'link: status' 2 $?
grep -qx 'leat map: link: Input/output error' "$out/err" || fail "link: $(cat "$out/err")"
[ -L link ] || fail 'link: it has been replaced'

finish
