#!/usr/bin/env bash
# --tree: one digest for a folder, which coreutils can compute as well; and lists that have some.
. "$(dirname "$0")/sum_common.bash"

mkdir -p t/a/b t/a-b t/empty t/a.b
for file in t/1 t/a/2 t/a/b/3 t/a-b/4 t/a.b/5 't/back\slash' $'t/line\nfeed' t/a/z 't/with space' \
    t/-n; do
    echo "$file" >"$file"
done
: >t/nothing
ln -s 1 t/link

# by_hand PROGRAM FOLDER: the digest, by coreutils alone
by_hand() {
    (
        cd "$2" || exit 1
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r "$1" | "$1" | cut -d ' ' -f 1
    )
}
# tree WHAT STATUS WANTED ARGUMENT...
tree() {
    local what=$1 status=$2 wanted=$3 got
    shift 3
    got=$("$leat" sum "$@" 2>&1 </dev/null)
    is "$what: status" "$status" $?
    is "$what" "$wanted" "$got"
}

need() {
    command -v "$1" >/dev/null || skip "there is no $1"
}
need md5sum
for digest in md5 sha1 sha256 sha512; do
    for folder in t t/a t/empty . t/a/../a-b "$PWD/t"; do
        tree "$digest, $folder" 0 "$(by_hand ${digest}sum "$folder")  $folder/" -a $digest --tree \
            "$folder"
    done
done
md5=$(by_hand md5sum t) sha=$(by_hand sha256sum t)
tree 'b2sum -l' 0 "$(cd t && find . -type f -print0 | sort -z | xargs -0 b2sum -l 128 |
    b2sum -l 128 | cut -d ' ' -f 1)  t/" -a blake2b -l 128 --tree t
is 'xxh3' "$(cd t && "$leat" sum -a xxh3 . | "$leat" sum -a xxh3 | sed 's/(-)/(t\/)/')" \
    "$("$leat" sum -a xxh3 --tree t)"
tree 'a slash' 0 "$md5  t/" --tree t/
tree 'several' 0 "$md5  t/
$(md5sum t/1)
$(by_hand md5sum t/a)  t/a/" --tree t t/1 t/a
tree 'two digests' 0 "MD5 (t/) = $md5
SHA256 (t/) = $sha" -a md5,sha256 --tree t
tree --tag 0 "SHA256 (t/) = $sha" -a sha256 --tag --tree t
tree --json 0 "{\"path\":\"t/\",\"md5\":\"$md5\"}" --json --tree t
tree '-j 1' 0 "$md5  t/" -j 1 --tree t
is --files0-from "$md5  t/" "$(printf 't\0' | "$leat" sum --tree --files0-from=-)"
is '-z' "$md5  t/@" "$("$leat" sum -z --tree t | tr '\0' @)"
tree '--exclude' 0 "$(cd t && find . -type f ! -name '*.*' ! -path './a/*' ! -path './a.b/*' \
    -print0 | sort -z | xargs -0 md5sum | md5sum | cut -c -32)  t/" --exclude=/a/ --exclude='*.*' \
    --tree t
tree '-L' 0 "$(cd t && "$leat" sum -L . | md5sum | cut -c -32)  t/" -L --tree t
is '--cache' "$md5  t/
$md5  t/" "$("$leat" sum --cache ../cache --tree t && "$leat" sum --cache ../cache --tree t)"

# It is the same elsewhere and at another time, and another if a name or a byte differs.
cp -r t ../copy
touch -d 2001-01-01 ../copy/1
chmod 777 ../copy/a/2
is 'a copy' "$md5" "$("$leat" sum --tree ../copy | cut -c -32)"
mv ../copy/a/z ../copy/a/y
[ "$("$leat" sum --tree ../copy | cut -c -32)" != "$md5" ] || fail 'a name does not count'

# Lists with such lines.
"$leat" sum -a sha256 --tree t t/1 t/a >../list
tree 'a check' 0 $'t/: OK\nt/1: OK\nt/a/: OK' -a sha256 -c ../list
"$leat" sum -a md5,sha256,xxh3 --tree t >../tagged
tree 'a check, with tags' 0 $'t/: OK\nt/: OK\nt/: OK' -c ../tagged
tree 'listed as a whole' 0 '' -c --quiet ../tagged --strict-tree t
tree 'a duplicate' 0 "$(printf '%s\n' 't/: OK' "$work/copy/: OK" "$work/copy/: SAME AS t/")" -c \
    --duplicates <(mv ../copy/a/y ../copy/a/z && "$leat" sum --tree t "$work/copy")
echo more >>t/a/2
tree 'a changed file' 1 $'t/: FAILED\nt/a/: FAILED
leat sum: WARNING: 2 computed checksums did NOT match' -a sha256 -c --quiet ../list
tree '--update' 1 $'t/: FAILED\nt/a/: FAILED
leat sum: WARNING: 2 computed checksums did NOT match' -a sha256 --update=../list t
tree '--accept=changed' 0 $'t/: REPLACED\nt/a/: REPLACED' -a sha256 --update=../list \
    --accept=changed t
is 'the updated list' "$("$leat" sum -a sha256 --tree t t/1 t/a)" "$(cat ../list)"
"$leat" sum --tree t >../list
mv t gone
tree 'a folder that is gone' 1 'leat sum: t/: No such file or directory
t/: FAILED open or read
leat sum: WARNING: 1 listed file could not be read' -c ../list
tree '--ignore-missing' 1 "leat sum: ../list: no file was verified" -c --ignore-missing ../list
tree 'MISSING' 1 't/: MISSING
leat sum: WARNING: 1 listed file does not exist' --update=../list gone/empty
echo 1 >t
tree 'a folder that is a file now' 1 'leat sum: t/: Not a directory
t/: FAILED open or read
leat sum: WARNING: 1 listed file could not be read' -c ../list
rm t
mv gone t
ln -s "$leat" ../md5sum
is 'by another name' '../md5sum: t/: Is a directory' "$(../md5sum -c ../list 2>&1 | head -n 1)"

# Without all files there is no digest.
chmod 0 t/a/z
if ! cat t/a/z >/dev/null 2>&1; then
    tree 'unreadable' 1 'leat sum: t/a/z: Permission denied
leat sum: t/: has no digest, since not all of it could be read' --tree t
fi
chmod 644 t/a/z
chmod 0 t/a/b
if ! ls t/a/b >/dev/null 2>&1; then
    tree 'an unreadable folder' 1 'leat sum: t/a/b: Permission denied
leat sum: t/: has no digest, since not all of it could be read' --tree t
fi
chmod 755 t/a/b
tree 'no folder' 1 'leat sum: nosuch: No such file or directory' --tree nosuch
mkfifo t/fifo
tree 'a FIFO' 0 "leat sum: t/fifo: is a FIFO, skipped
$(by_hand md5sum t)  t/" --tree t
rm t/fifo

for arguments in '-c ../list' '--update=../list t'; do
    # shellcheck disable=SC2086
    "$leat" sum --tree $arguments >"$out/got" 2>&1
    is "--tree $arguments: status" 1 $?
    grep -q "^Try 'leat sum --help'" "$out/got" || fail "--tree $arguments: no message"
done

# Many files and threads, one folder after another.
mkdir many
for i in {1..3000}; do
    echo "$i" >"many/$i"
done
wanted="$(by_hand md5sum many)  many/"
for _ in {1..5}; do
    tree many 0 "$wanted
$(by_hand md5sum t)  t/
$wanted" --tree many t many
done
"$leat" sum --tree many >../list
tree 'many: a check' 0 $'many/: OK\nmany/: OK' -c ../list ../list

finish
