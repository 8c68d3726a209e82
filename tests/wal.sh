#!/usr/bin/env bash
# The example wal on real files: its counts, and what it recovers from a log that was cut, from one
# whose writer was killed, and from one that may not grow.
set -u
wal=${LEAT_BUILD_DIR:?}/examples/example-wal
[ -x "$wal" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || { echo "$1: wanted '$2', got '$3'"; failed=1; }
}

# A record takes 128 bytes: a cell for its head, and 100 bytes in whole cells.
whole() {
    echo "$1 records in $(($1 * 128)) bytes"
}

"$wal" append log 10 8 >out
is 'append: status' 0 $?
grep -q '^80 appends of 100 bytes by 8 in .* a second$' out || { cat out; failed=1; }
is 'check' "$(whole 80)" "$("$wal" check log)"
"$wal" each log 5 4 >out
is 'each: status' 0 $?
"$wal" append log 1 1 >out
is 'append to a log that is there' "$(whole 101)" "$("$wal" check log)"

# A log cut anywhere: the whole records stay, and the next one follows them.
for size in 0 1 15 16 127 128 129 1000 $((RANDOM % 12928)) $((RANDOM % 12928)); do
    cp log cut
    truncate -s "$size" cut
    n=$((size / 128))
    said=$("$wal" check cut 2>err)
    is "cut at $size: status" $((size % 128 > 0)) $?
    is "cut at $size" "$(whole $n)" "${said%%$'\n'*}"
    "$wal" append cut 3 2 >out
    is "cut at $size, and then" "$(whole $((n + 6)))" "$("$wal" check cut)"
done
# A changed byte: the log ends before it, after its first half.
cp log flipped
printf '?' | dd of=flipped bs=1 seek=$((50 * 128 + 77)) conv=notrunc 2>err
is 'flipped' "$(whole 50)" "$("$wal" check flipped 2>err | head -n 1)"

# A writer killed at any moment: at most the last record is not whole.
for seconds in 0.05 0.1 0.2; do
    rm -f killed
    "$wal" append killed 1000000 16 >out 2>err &
    sleep "$seconds"
    kill -KILL $!
    # The process ends only after the write or sync that it was in.
    { wait $!; } 2>err
    is 'killed: status' 137 $?
    [ -e killed ] || continue
    "$wal" check killed >out 2>err
    n=$(sed -n 's/ records in .*//p' out)
    "$wal" append killed 1 2 >out
    is 'killed, and then' "$(whole $((n + 2)))" "$("$wal" check killed)"
done

# The log may not grow beyond 8 KiB: its callers get the error, and all its records are whole.
(
    trap '' XFSZ
    ulimit -f 8
    "$wal" append small 100 4 >out 2>err
    is 'no room: status' 1 $?
    is 'no room: message' 'wal: small: File too large' "$(cat err)"
    exit $failed
) || failed=1
is 'no room' "$(whole 64)" "$("$wal" check small)"

"$wal" check nosuch 2>err
is 'no log: status' 1 $?
is 'no log: message' 'wal: nosuch: No such file or directory' "$(cat err)"
for arguments in '' 'append log' 'append log 0 1' 'append log 1 x' 'each log 1' 'check' \
    'other log'; do
    # shellcheck disable=SC2086
    "$wal" $arguments 2>err
    is "usage of '$arguments'" 2 $?
done
exit $failed
