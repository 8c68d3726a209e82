#!/usr/bin/env bash
# The example http_files serves a folder to curl: whole files, also 20 at a time; nothing outside
# the folder; and it ends at SIGINT with no descriptor left open.
command -v curl >/dev/null || exit 77
. "$(dirname "$0")/http_common.bash"

# fetch NAME OUTPUT: writes the file to OUTPUT and prints the status.
fetch() {
    curl -s --noproxy '*' --max-time 60 --path-as-is -o "$2" -w '%{http_code}' "$url$1"
}

mkdir served/sub
echo 'a secret' >secret
: >served/empty
seq 1 10 >served/sub/small
for i in $(seq 20); do
    head -c "$((i * 50000 + RANDOM))" /dev/urandom >"served/$i"
done
serve

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

finish
