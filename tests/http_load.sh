#!/usr/bin/env bash
# The example http_files under load: 50 connections at once ask for some thousand files, with a
# connection for each request and with one for many. Every answer is whole and has status 200; then
# the server has no connection left. The client is ab, or wrk.
command -v ab >/dev/null || command -v wrk >/dev/null || exit 77
. "$(dirname "$0")/http_common.bash"

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
finish
END
    wrk -c 50 -t 2 -d 1s --timeout 60s -s check.lua "$@" "$url$name" >said 2>&1 || failed=1
    if ! grep -q '^ *[1-9][0-9]* requests in' said || grep -q 'wrong\|errors\|Non-2xx' said; then
        sort said | uniq -c | sort -rn | head -20
        failed=1
    fi
}

head -c 1000 /dev/urandom >served/small
head -c 200000 /dev/urandom >served/large
serve

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

finish
