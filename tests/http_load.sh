#!/usr/bin/env bash
# The example http_files under load: 50 connections at once ask for some thousand files, with a
# connection for each request and with one for many. Every answer is whole and has status 200; then
# the server has no connection left. The client is ab, or wrk.
set -u
server=${LEAT_BUILD_DIR:?}/examples/example-http_files
[ -x "$server" ] || exit 77
command -v ab >/dev/null || command -v wrk >/dev/null || exit 77
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid"; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || { echo "$1: wanted '$2', got '$3'"; failed=1; }
}

# of WHAT: what ab says about it.
of() {
    sed -n "s/^$1: *\([0-9]*\).*/\1/p" said
}

# by_ab NAME SIZE COUNT OPTION…
by_ab() {
    local name=$1 size=$2 count=$3
    shift 3
    ab -q -s 60 -c 50 -n "$count" "$@" "$url$name" >said 2>&1 || { cat said; failed=1; }
    is "$name $*: answered" "$count" "$(of 'Complete requests')"
    is "$name $*: failed" 0 "$(of 'Failed requests')"
    is "$name $*: other statuses" '' "$(of 'Non-2xx responses')"
    is "$name $*: bytes" $((size * count)) "$(of 'HTML transferred')"
    [ $# = 0 ] || is "$name $*: without a new connection" "$count" "$(of 'Keep-Alive requests')"
}

# by_wrk NAME SIZE OPTION…: wrk counts time, not requests.
by_wrk() {
    local name=$1 size=$2
    shift 2
    cat >check.lua <<END
function response(status, headers, body)
    if status ~= 200 or #body ~= $size then print("wrong: " .. status .. ", " .. #body) end
end
END
    wrk -c 50 -t 2 -d 1s --timeout 60s -s check.lua "$@" "$url$name" >said 2>&1 || failed=1
    if ! grep -q '^ *[1-9][0-9]* requests in' said || grep -q 'wrong\|errors\|Non-2xx' said; then
        sort said | uniq -c | sort -rn | head -20
        failed=1
    fi
}

mkdir served
head -c 1000 /dev/urandom >served/small
head -c 200000 /dev/urandom >served/large
"$server" 127.0.0.1:0 served >url 2>err &
pid=$!
for _ in $(seq 600); do
    [ -s url ] && break
    sleep 0.1
done
url=$(cat url)
[ -n "$url" ] || { echo "no address:"; cat err; exit 1; }

if command -v ab >/dev/null; then
    by_ab small 1000 4000 -k
    by_ab small 1000 2000
    by_ab large 200000 500 -k
    by_ab large 200000 500
else
    by_wrk small 1000
    by_wrk small 1000 -H 'Connection: close'
    by_wrk large 200000
fi

# The server closes a connection when it has read its end: that may be after the client has ended.
for _ in $(seq 300); do
    open=$(find "/proc/$pid/fd" -lname 'socket:*' | wc -l)
    [ "$open" = 1 ] && break
    sleep 0.1
done
is 'open, with the listener' 1 "$open"
kill -INT "$pid"
wait "$pid"
is 'status at SIGINT' 0 $?
pid=
is 'messages' '' "$(cat err)"
exit $failed
