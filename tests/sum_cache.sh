#!/usr/bin/env bash
# --cache: unchanged files are not read, changed ones are, and nothing harms the cache's file.
. "$(dirname "$0")/sum_common.bash"

cache=../cache
lines() {
    grep -c '^[a-z0-9-]* [0-9]* [0-9]* ' "$cache"
}
# forge SED-COMMAND: changes lines of the cache, and corrects its checksum
forge() {
    sed -i '$d' "$cache"
    sed -i "$1" "$cache"
    printf 'xxh64 %s\n' "$("$leat" sum -a xxh64 "$cache" | cut -c -16)" >>"$cache"
}
line_of() {
    grep "^[^ ]* $(stat -c '%d %i' "$1") " "$cache"
}
# run ARGUMENT...: runs leat sum with the cache
run() {
    "$leat" sum --cache "$cache" "$@" >"$out/got" 2>"$out/got.err"
    status=$?
}
# right WHAT STATUS [MESSAGE]: after run, checks that the lines are right
right() {
    is "$1: status" "$2" "$status"
    same "$1" "$out/wanted" "$out/got"
    is "$1: messages" "${3-}" "$(cat "$out/got.err")"
}

mkdir -p t/a
for file in t/1 t/2 t/3 t/a/old t/a/same t/a/touched t/a/replaced t/a/mode t/a/link \
    'line'$'\n''feed' forged; do
    echo "$file" >"$file"
done
mv line* t/
head -c 300000 /dev/urandom >t/large
: >t/empty
ln t/1 t/hard
files=$(find t -type f -printf x | wc -c)

# A file that was just changed may change again within the same tick of the clock: it is not kept.
date >young
run young
written=$(stat -c %Z young)
[ ! -e "$cache" ] || [ "$(date +%s)" -ge $((written + 3)) ] || fail 'a young file was kept'
rm -f "$cache"
settle t/* t/a/*
touch -d '+1 hour' young
md5sum young >"$out/wanted"
run young
right 'a file from the future' 0
[ -e "$cache" ] && fail 'a file from the future was kept'

# All others are kept, for each digest.
for algorithm in md5 sha256; do
    "$leat" sum -a $algorithm t >"$out/wanted"
    for time in first second; do
        run -a $algorithm -j 2 t
        right "$algorithm: the $time time" 0
    done
    # The hard link may have its own line until the next run that changes something. The empty file
    # has none.
    LC_ALL=C sort -u "$cache" | grep -c "^$algorithm " >"$out/kept"
    is "$algorithm: kept" $((files - 2)) "$(cat "$out/kept")"
done
is 'whose it is' "md5 $(stat -c '%d %i %s' t/large)" \
    "$(line_of t/large | head -n 1 | cut -d ' ' -f -4)"
is 'the end is a checksum of the rest' "$(tail -n 1 "$cache")" \
    "xxh64 $(sed '$d' "$cache" | "$leat" sum -a xxh64 | cut -c -16)"
before=$(stat -c '%i %z' "$cache")
run t
is 'nothing new, nothing written' "$before" "$(stat -c '%i %z' "$cache")"

# The cache is believed: a forged digest is printed, so the file was not read.
forged=$(printf '%032d' 7)
forge "s/^md5 \($(stat -c '%d %i' t/large) .*\) [0-9a-f]* \([0-9]*\)$/md5 \1 $forged \2/"
run t
is 'believed: status' 0 "$status"
is 'believed' "$forged  t/large" "$(grep 't/large$' "$out/got")"
run -j 1 t/large
is 'believed as an operand' "$forged  t/large" "$(cat "$out/got")"
md5sum t/large >list
run -c list
is 'believed in a check: status' 1 "$status"
is 'believed in a check' 't/large: FAILED' "$(cat "$out/got")"

# With --paranoid the cache is not believed.
warning="leat sum: t/large: differs from its stored digest, but its size and times are the same"
"$leat" sum t >"$out/wanted"
for jobs in 1 2; do
    run --paranoid -j $jobs t
    right "paranoid, -j $jobs" 1 "$warning"
done
run --paranoid -c list
is 'paranoid check: status' 1 "$status"
is 'paranoid check' 't/large: OK' "$(cat "$out/got")"
is 'paranoid check: messages' "$warning" "$(cat "$out/got.err")"
"$leat" sum -a sha256 t >"$out/wanted"
run --paranoid -a sha256 t
right 'another digest is right' 0
# A difference is also found when a file is read for another digest; then neither is kept.
"$leat" sum -a md5,sha1 t/large >"$out/wanted"
run -a md5,sha1 t/large
right 'seen by the way' 1 "$warning"
grep -q '^sha1 ' "$cache" && fail 'kept in spite of doubts'
rm "$cache"

# After any change a file is read again.
run t
touch -r t/a/touched ../before
echo 't/a/SAME' >t/a/same
echo 'others' >>t/a/old
echo 't/a/TOUCHED' >t/a/touched
touch -r ../before t/a/touched
echo 't/a/replaced' >new
mv new t/a/replaced
chmod 600 t/a/mode
"$leat" sum t >"$out/wanted"
forged=$(printf '%032d' 8)
for file in same old touched replaced mode; do
    forge "s/^\(md5 $(stat -c '%d %i' t/a/$file) .*\) [0-9a-f]* \([0-9]*\)$/\1 $forged \2/"
done
run t
right 'changed' 0
settle t/a/*
run t
right 'changed and settled' 0
run --paranoid t
right 'changed, settled, read again' 0
is 'one line for each' 1 "$(line_of t/a/old | grep -c .)"
mv t t2
sed 's/ t/ t2/' "$out/wanted" >"$out/moved"
forge "s/^\(md5 $(stat -c '%d %i' t2/large) .*\) [0-9a-f]* \([0-9]*\)$/\1 $(printf '%032d' 9) \2/"
run t2
is 'what was moved is still known' "$(printf '%032d' 9)  t2/large" "$(grep 't2/large$' "$out/got")"
mv t2 t
rm "$cache"

# Each digest and each length has its own line; a file is read if one of several digests is missing.
"$leat" sum -a md5,blake2b -l 128 t >"$out/wanted"
run -a md5,blake2b -l 128 t
right 'a length' 0
"$leat" sum -a md5,blake2b,sha1 t >"$out/wanted"
for _ in 1 2; do
    run -a md5,blake2b,sha1 t
    right 'several' 0
done
is 'the lines of a file' 'blake2b blake2b-128 md5 sha1' \
    "$(line_of t/large | cut -d ' ' -f 1 | sort | xargs)"
"$leat" sum -a md5,blake2b,sha1 t >list
run -c --quiet list
is 'a mixed check: status' 0 "$status"

# Neither standard input nor a FIFO is kept.
before=$(lines)
mkfifo fifo
for time in 1 2; do
    (echo $time >fifo) &
    run - fifo <t/large
    wait
    is "a FIFO, time $time" "$(echo $time | md5sum | cut -c -32)  fifo" "$(tail -n 1 "$out/got")"
done
is 'standard input and a FIFO' "$before" "$(lines)"

# When the cache is written, it drops lines whose files no run has met for 90 days.
today=$(($(date +%s) / 86400))
rm "$cache"
run t/1 t/2 t/3 t/a/mode
forge "s/^\(md5 $(stat -c '%d %i' t/1) .* \)[0-9]*$/\1$((today - 91))/"
forge "s/^\(md5 $(stat -c '%d %i' t/2) .* \)[0-9]*$/\1$((today - 89))/"
forge "s/^\(md5 $(stat -c '%d %i' t/3) .* \)[0-9]*$/\1$((today - 200))/"
run t/3
is 'an old line goes' '' "$(line_of t/1)"
is 'a younger one stays' $((today - 89)) "$(line_of t/2 | sed 's/.* //')"
is 'one that was met stays' "$today" "$(line_of t/3 | sed 's/.* //')"
is 'and so does that of today' "$today" "$(line_of t/a/mode | sed 's/.* //')"

# A damaged cache is not used, and replaced.
rm "$cache"
run t
cp "$cache" ../whole
"$leat" sum t >"$out/wanted"
size=$(stat -c %s ../whole)
damage() {
    run t
    right "$1" 0 "leat sum: $cache: is damaged, and not used"
    run t
    right "$1: again" 0
}
for at in 17 40 $((size / 2)) $((size - 3)); do
    cp ../whole "$cache"
    printf '\1' | dd of="$cache" bs=1 seek="$at" conv=notrunc status=none
    damage "a wrong byte at $at"
done
for length in 17 30 $((size - 1)) $((size / 2)); do
    head -c "$length" ../whole >"$cache"
    damage "$length bytes of it"
done
{ cat ../whole && echo; } >"$cache"
damage 'something after it'
# A cache with a right checksum and wrong lines.
for line in 'md5' 'md5 1 2 3 4 5 00' 'md5 1 2 3 4 5 00 1 2' ''; do
    cp ../whole "$cache"
    forge "3s/.*/$line/"
    damage "'$line' in it"
done
cp ../whole "$cache"
forge '3s/ /\x00/4'
damage 'a NUL in it'
: >"$cache"
run t
right 'an empty file' 0
run --paranoid t
right 'an empty file: again' 0

# A file that is no cache, or one of another version, is left alone.
alone() {
    cp "$cache" ../before
    run t
    right "$1" 0 "leat sum: $cache: $2"
    same "$1 is left alone" ../before "$cache"
}
echo 'my letters' >"$cache"
alone 'a text' 'is no cache of leat sum, and is left alone'
printf l >"$cache"
alone 'a letter' 'is no cache of leat sum, and is left alone'
sed 's/^leat sum cache 1$/leat sum cache 2/' ../whole >"$cache"
alone 'another version' 'is a cache of another version, and is left alone'
rm "$cache"
mkdir "$cache"
run t
right 'a folder' 0 "leat sum: $cache: is not a regular file, so it is no cache"
rmdir "$cache"
cache=/dev/null
run t
right 'a device' 0 "leat sum: /dev/null: is not a regular file, so it is no cache"
[ -c /dev/null ] || fail 'a device was replaced'
cache=nosuch/cache
run t
right 'no folder for it' 0 'leat sum: nosuch/cache: cannot be written: No such file or directory'
cache=../cache

# A link to the cache stays; the file that it leads to is written, whether it exists or not.
mkdir ../kept
for time in first second; do
    ln -sf kept/own ../between
    ln -sf between "$cache"
    [ "$time" = first ] || : >../kept/own
    run t
    right "a link, the $time time" 0
    is "a link, the $time time: stays" between "$(readlink "$cache")"
    is "a link, the $time time: also the next one" kept/own "$(readlink ../between)"
    [ "$(lines)" -gt 0 ] || fail "a link, the $time time: nothing is kept"
    is "a link, the $time time: what is beside it" ../kept/own "$(echo ../kept/*)"
done
ln -sf nosuch/own "$cache.link"
cache=$cache.link
run t
right 'a link to no folder' 0 \
    'leat sum: ../cache.link: cannot be written: No such file or directory'
rm -r ../kept ../between ../cache ../cache.link
cache=../cache

# Many runs at once: each leaves a whole cache, and no other file beside it.
rm -f "$cache"
for i in {1..12}; do
    "$leat" sum --cache "$cache" -a "$([ $((i % 2)) = 0 ] && echo md5 || echo sha1)" t \
        >"$out/many.$i" 2>&1 &
done
wait
for i in {2..12..2}; do
    same "many at once, $i" "$out/wanted" "$out/many.$i"
done
run t
right 'after many at once' 0
is 'nothing beside it' "$cache" "$(echo "$cache"*)"

# A signal ends the run, but the digests computed until then are kept.
rm -f "$cache"
exec 3<>fifo
"$leat" sum --cache "$cache" t/large fifo >lines &
waiting=$!
until [ -s lines ] || ! kill -0 "$waiting"; do
    sleep 0.05
done
kill "$waiting"
wait "$waiting"
is 'a signal: status' 143 $?
exec 3<&-
is 'a signal: kept' 1 "$(lines)"

# A file that changes while it is read is not kept: here it changes after reading has begun.
rm -f "$cache"
truncate -s 512M t/sparse
settle t/sparse
"$leat" sum --cache "$cache" -a sha3-256 t/sparse >"$out/got" &
reader=$!
position() {
    local link
    for link in "/proc/$reader"/fd/*; do
        [ "$(readlink "$link")" = "$PWD/t/sparse" ] &&
            sed -n 's/^pos:[^0-9]*//p' "/proc/$reader/fdinfo/${link##*/}"
    done 2>/dev/null
}
until [ "$(position | head -n 1)" ] || ! kill -0 "$reader" 2>/dev/null; do :; done
chmod 600 t/sparse
at=$(position | head -n 1)
wait "$reader"
if [ "${at:-0}" -gt 0 ] && [ "$at" -lt $((512 << 20)) ]; then
    [ -e "$cache" ] && fail 'kept, though it changed while it was read'
else
    echo 'it was read before it could be changed'
fi
settle t/sparse
run -a sha3-256 t/sparse
is 'kept when it no longer changes' 1 "$(lines)"
rm t/sparse

# Files of /proc change, but not their size, which is 0, nor their times.
rm -f "$cache"
run t/1 /proc/uptime
is 'a file of /proc: kept' 1 "$(lines)"

# --strict-tree with the cache in the tree.
"$leat" sum t >../list
cp "$cache" t/cache
cache=t/cache
run -c --quiet ../list --strict-tree t
is 'in a strict tree: status' 0 "$status"
cache=../cache

"$leat" sum --paranoid t >"$out/got" 2>&1
is 'paranoid without a cache: status' 1 $?
is 'paranoid without a cache' 'leat sum: the --paranoid option is meaningful only with --cache' \
    "$(head -n 1 "$out/got")"

finish
