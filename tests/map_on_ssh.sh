#!/usr/bin/env bash
# leat map --on by a real ssh, to a server of its own on a port of its own.
. "$(dirname "$0")/on_common.bash"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip 'there is no sshd'
command -v ssh >/dev/null || skip 'there is no ssh'

# What the server starts finds `leat` here.
mkdir "$work/bin"
ln -s "$leat" "$work/bin/leat"
ssh-keygen -q -t ed25519 -N '' -f "$work/host" && ssh-keygen -q -t ed25519 -N '' -f "$work/user" ||
    skip 'no keys'
cp "$work/user.pub" "$work/authorized"
# As root, sshd wants a folder that Debian makes when it boots.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
: >"$out/server"
serves() {
    cat >"$work/server" <<CONFIG
Port $port
ListenAddress 127.0.0.1
HostKey $work/host
AuthorizedKeysFile $work/authorized
StrictModes no
UsePAM no
PidFile none
SetEnv PATH=$work/bin:$PATH
CONFIG
    "$sshd" -D -e -f "$work/server" 2>"$out/server" &
    server=$!
    for _ in $(seq 100); do
        grep -q 'Server listening' "$out/server" && return
        kill -0 $server 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
for try in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 20000))
    serves && break
    [ $try -lt 5 ] || skip "sshd does not start: $(tail -n 1 "$out/server")"
done
trap 'kill $server; chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
cat >"$work/client" <<CONFIG
Host here there
    HostName 127.0.0.1
    Port $port
    IdentityFile $work/user
    UserKnownHostsFile $work/known
    StrictHostKeyChecking accept-new
Host closed
    HostName 127.0.0.1
    Port 1
CONFIG
export LEAT_SSH="ssh -F $work/client -o BatchMode=yes"
ssh -F "$work/client" -o BatchMode=yes here true 2>"$out/err" || skip "ssh: $(cat "$out/err")"

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

finish
