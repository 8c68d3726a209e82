# http_common.bash: what the tests of the example http_files share; sourced, not run. It starts the
# server, counts what it has open, and ends it.
set -u
server=${LEAT_BUILD_DIR:?}/examples/example-http_files
[ -x "$server" ] || exit 77
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid"; rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir served
failed=0

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || { echo "$1: wanted '$2', got '$3'"; failed=1; }
}

# Serves the folder `served` at $url. SIGINT is ignored in a job that a script starts in the
# background. leat_signals handles it.
serve() {
    "$server" 127.0.0.1:0 served >url 2>err &
    pid=$!
    for _ in $(seq 600); do
        [ -s url ] && break
        sleep 0.1
    done
    url=$(cat url)
    [ -n "$url" ] || { echo "no address:"; cat err; exit 1; }
}

# Counts what the server has open of sockets and of files in the folder.
opened() {
    find "/proc/$pid/fd" \( -lname 'socket:*' -o -lname "$work/served/*" \) | wc -l
}

# The server has only its listener open, and ends at SIGINT. It closes a connection when it has read
# the connection's end: that may be after the client has ended.
finish() {
    for _ in $(seq 300); do
        [ "$(opened)" = 1 ] && break
        sleep 0.1
    done
    is 'open, with the listener' 1 "$(opened)"
    is 'children' '' "$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)"
    kill -INT "$pid"
    wait "$pid"
    is 'status at SIGINT' 0 $?
    pid=
    is 'messages' '' "$(cat err)"
    exit $failed
}
