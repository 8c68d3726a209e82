#!/usr/bin/env bash
# The example http_files serves a folder to curl: whole files, also 20 at a time; nothing outside
# the folder; and it ends at SIGINT with no descriptor left open.
set -u
server=${LEAT_BUILD_DIR:?}/examples/example-http_files
[ -x "$server" ] || exit 77
command -v curl >/dev/null || exit 77
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid"; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || { echo "$1: wanted '$2', got '$3'"; failed=1; }
}

# fetch NAME OUTPUT: writes the file to OUTPUT and prints the status.
fetch() {
    curl -s --noproxy '*' --max-time 60 --path-as-is -o "$2" -w '%{http_code}' "$url$1"
}

# Counts what the server has open of sockets and of files in the folder.
opened() {
    find "/proc/$pid/fd" \( -lname 'socket:*' -o -lname "$work/served/*" \) | wc -l
}

mkdir -p served/sub
echo 'a secret' >secret
: >served/empty
seq 1 10 >served/sub/small
for i in $(seq 20); do
    head -c "$((i * 50000 + RANDOM))" /dev/urandom >"served/$i"
done

# SIGINT is ignored in a job that a script starts in the background. leat_signals handles it.
"$server" 127.0.0.1:0 served >url 2>err &
pid=$!
for _ in $(seq 600); do
    [ -s url ] && break
    sleep 0.1
done
url=$(cat url)
[ -n "$url" ] || { echo "no address:"; cat err; exit 1; }

for name in empty sub/small 1; do
    is "$name: status" 200 "$(fetch "$name" got)"
    cmp "served/$name" got || failed=1
done

fetches=()
for i in $(seq 20); do
    fetch "$i" "got$i" >"status$i" &
    fetches+=($!)
done
wait "${fetches[@]}"
for i in $(seq 20); do
    is "$i: status" 200 "$(cat "status$i")"
    cmp "served/$i" "got$i" || failed=1
done

for i in 3 4 5; do
    echo "url = \"$url$i\""
    echo "output = \"again$i\""
done >several
curl -s --noproxy '*' --max-time 60 -w '%{num_connects}\n' -K several >connects
is 'connections for three files' '1 0 0' "$(xargs <connects)"
for i in 3 4 5; do
    cmp "served/$i" "again$i" || failed=1
done

is 'HEAD' "$(stat -c %s served/20)" "$(curl -sI --noproxy '*' --max-time 60 "${url}20" |
    tr -d '\r' | sed -n 's/^Content-Length: //p')"
is 'none' 404 "$(fetch none got)"
is 'outside' 403 "$(fetch ../secret got)"
is 'outside, encoded' 403 "$(fetch sub/%2e%2e/%2e%2e/secret got)"
is 'a folder' 403 "$(fetch sub got)"
is 'bad code' 400 "$(fetch %0g got)"
is 'POST' 405 "$(curl -s --noproxy '*' --max-time 60 -o got -w '%{http_code}' -d body "${url}1")"

# The server closes a connection when it has read its end: that may be after curl has ended.
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
