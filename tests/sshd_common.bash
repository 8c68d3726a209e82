# sshd_common.bash: the test's own ssh server, on its own port; sourced, not run. Needs
# command_common.bash.

sshd=$(PATH=$PATH:/usr/sbin command -v sshd)

sshd_serves() {
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
    for _ in $(seq 1200); do
        grep -q 'Server listening' "$out/server" && return
        kill -0 $server 2>/dev/null || return 1
        sleep 0.05
    done
    kill $server
    return 1
}

# start_sshd: starts the server; what it runs finds `leat`, and programs in $work/bin. The option -F
# with $work/client makes ssh reach it at `here` and `there`; $server is its process number. False:
# $why says what is missing.
start_sshd() {
    local try
    why='there is no sshd'
    [ -n "$sshd" ] || return 1
    why='there is no ssh'
    command -v ssh >/dev/null || return 1
    mkdir "$work/bin"
    ln -s "$leat" "$work/bin/leat"
    why='no keys can be made'
    ssh-keygen -q -t ed25519 -N '' -f "$work/host" &&
        ssh-keygen -q -t ed25519 -N '' -f "$work/user" || return 1
    cp "$work/user.pub" "$work/authorized"
    # As root, sshd wants a folder that Debian makes when it boots.
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
    : >"$out/server"
    for try in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 20000))
        sshd_serves && break
        why="sshd does not start: $(tail -n 1 "$out/server")"
        [ "$try" -lt 5 ] || return 1
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
    ssh -F "$work/client" -o BatchMode=yes here true 2>"$out/err" && return
    why="ssh: $(cat "$out/err")"
    return 1
}
