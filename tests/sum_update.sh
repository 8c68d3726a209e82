#!/usr/bin/env bash
# --update: new files get into a list, and nothing else changes in it unless it was asked for.
. "$(dirname "$0")/sum_common.bash"

list=../list
# update WHAT STATUS ARGUMENT...: runs it; $out/before is the list as it was
update() {
    local status=$2
    what=$1
    shift 2
    cp "$list" "$out/before"
    "$leat" sum --update="$list" "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$what: status" "$status" $?
}
untouched() {
    same "$what: the list" "$out/before" "$list"
    is "$what: files beside the list" "$list" "$(echo "$list"*)"
}
# has: the list has what is in the standard input
has() {
    cat >"$out/wanted"
    same "$what: the list" "$out/wanted" "$list"
}

mkdir -p t/a t/b
for file in t/1 t/a/2 t/a/4 t/b/5 $'t/b/line\nfeed' 't/b/back\slash' t/z; do
    echo "$file" >"$file"
done
"$leat" sum t >$list
cp $list ../first

update 'nothing new' 0 t
said ''
untouched
is 'the same file' "$(stat -c '%i %y' $list)" "$(update x 0 t && stat -c '%i %y' $list)"

# New files: in the place that the order has for them; however the way to them is spelled.
echo 3 >t/a/3
echo 0 >t/0
echo odd >$'t/odd\nname'
chmod 640 $list
update 'new files' 0 t ./t "$PWD/t" t/a t/0
said $'t/0: ADDED\nt/a/3: ADDED\n\\t/odd\\nname: ADDED\n'
"$leat" sum t | has
is "$what: mode" 640 "$(stat -c %a $list)"
echo 6 >t/b/6
update 'a file by its name' 0 t/b/6 t/1
said $'t/b/6: ADDED\n'
update 'once more' 0 t
said ''
rm t/b/6 t/0 $'t/odd\nname'
echo more >t/y
cp ../first $list
printf 't/a/3\0t/y\0' >../names
update '--files0-from' 0 --files0-from=../names
said $'t/a/3: ADDED\nt/y: ADDED\n'
cp ../first $list
update '--json' 0 --json t
said '{"path":"t/a/3","verdict":"ADDED"}
{"path":"t/y","verdict":"ADDED"}
'
cp ../first $list
update '--exclude' 0 --exclude=a/ t
said $'t/y: ADDED\n'
for option in --quiet --status; do
    cp ../first $list
    update "$option" 0 $option t
    said ''
    "$leat" sum t | has
done

# Changed and missing files are reported and stay, unless they are accepted.
echo changed >t/1
rm t/a/2
echo newer >t/x
update 'changed and missing' 1 t
said $'t/1: FAILED\nt/a/2: MISSING\nt/x: ADDED\n' 'WARNING: 1 listed file does not exist' \
    'WARNING: 1 computed checksum did NOT match'
{
    sed -n '1,/t.a.4/p' "$out/before"
    sed '1,/t.a.4/d; / t.y/d; / t.z/d' "$out/before"
    md5sum t/x t/y t/z
} | has
update '--accept=missing' 1 --accept=missing t
said $'t/1: FAILED\nt/a/2: REMOVED\n' 'WARNING: 1 computed checksum did NOT match'
grep -v ' t/a/2$' "$out/before" | has
update '--accept=changed' 0 --accept=changed t
said $'t/1: REPLACED\n'
"$leat" sum t | has
update 'all of it' 0 --accept=changed,missing t
said ''
mv t/z ../z
: >t/z
chmod 0 t/y
if ! cat t/y >/dev/null 2>&1; then
    update 'unreadable' 1 --accept=missing,changed t
    said $'t/y: FAILED open or read\nt/z: REPLACED\n' 't/y: Permission denied' \
        'WARNING: 1 listed file could not be read'
fi
chmod 644 t/y
mv ../z t/z

# The form is that of the list's last file, and its order stays if it is not that of the names.
forms() {
    rm -rf f
    mkdir f
    echo 1 >f/1
    echo 3 >f/3
    "$@" >$list
    echo 2 >f/2
    update "form: $*" 0 f
    said $'f/2: ADDED\n'
}
forms md5sum f/1 f/3
md5sum f/1 f/2 f/3 | has
forms md5sum -b f/3 f/1
md5sum -b f/3 f/1 f/2 | has
forms sha256sum --tag f/1 f/3
sha256sum --tag f/1 f/2 f/3 | has
forms "$leat" sum -a sha1,md5 f
"$leat" sum -a sha1,md5 f | has
forms b2sum -l 128 --tag f/1 f/3
b2sum -l 128 --tag f/1 f/2 f/3 | has
crlf() {
    sha1sum "$@" | sed 's/$/\r/'
}
forms crlf f/1 f/3
crlf f/1 f/2 f/3 | has
# A last line without its end, or with half of it, gets that of the others.
cut_crlf() {
    crlf "${@:2}" | head -c "-$1"
}
for cut in 1 2; do
    forms cut_crlf $cut f/1 f/3
    crlf f/1 f/2 f/3 | has
    forms cut_crlf $cut f/3 f/1
    crlf f/3 f/1 f/2 | has
done
blank() {
    sha1sum "$@" | sed 's/  / /'
}
forms blank f/1 f/3
blank f/1 f/2 f/3 | has
# The lines that are no digests stay where they are, and so does the case of digits.
odd() {
    echo '# a comment'
    md5sum "$1" | sed 's/^[0-9a-f]*/\U&/'
    echo
    printf '%s' "$(md5sum "$2")"
}
forms odd f/3 f/1
{
    odd f/3 f/1
    echo
    md5sum f/2
} | has
: >$list
update 'an empty list' 0 -a sha256,md5 f
"$leat" sum -a sha256,md5 f | has
: >$list
update 'an empty list, md5' 0 f
md5sum f/1 f/2 f/3 | has
ln -s "${list#../}" ../link
echo 4 >f/4
"$leat" sum --update=../link f >"$out/got" 2>&1
[ -L ../link ] || fail 'the link is gone'
md5sum f/1 f/2 f/3 f/4 | has
rm ../link

# With one blank before the names, a first line of a name that begins with a * or a blank would say
# that there are two characters before them.
rm -rf f
mkdir f
cd f || exit 1
echo 1 >a
echo 2 >'*b'
echo 3 >' c'
blank a >../$list
update_in_f() {
    what=$1
    shift
    cp ../$list "$out/before"
    "$leat" sum --update=../$list "$@" >"$out/got" 2>"$out/got.err" </dev/null
}
update_in_f 'one blank' a '*b' ' c'
is "$what: status" 0 $?
blank a '*b' ' c' >"$out/wanted"
same "$what: the list" "$out/wanted" ../$list
"$leat" sum -c --quiet ../$list || fail "$what: the list is no longer right"
rm a
update_in_f 'one blank, its sign missing' --accept=missing ' c'
is "$what: status" 1 $?
same "$what: the list" "$out/before" ../$list
is "$what: message" "leat sum: ../$list: would be read in another way, and is left alone" \
    "$(cat "$out/got.err")"
cd .. || exit 1
forms md5sum f/1 f/3
echo 4 >f/4
md5sum f/1 f/2 f/3 f/4 >$list

# Files that do not count: the list, the cache.
cp $list f/list
"$leat" sum --update=f/list --cache=f/cache f >"$out/got" 2>&1
is 'the list in the folder: status' 0 $?
same 'the list in the folder' /dev/null "$out/got"
: >f/cache
ln -s f/list f/cache .
"$leat" sum --update=list --cache=cache f >"$out/got" 2>&1
is 'links to both: status' 0 $?
same 'links to both' /dev/null "$out/got"
mv f/list f/cache ..
ln -s ../../list ../../cache f
"$leat" sum -L --update=../list --cache=../cache f >"$out/got" 2>&1
is 'links to both in the folder: status' 0 $?
same 'links to both in the folder' /dev/null "$out/got"
rm -f f/list f/cache list cache ../cache

# A file that differs from its digest in the cache without a trace is damaged: it is never accepted.
settle f/4
"$leat" sum --cache ../cache f >$list
sed -i '$d; s/ [0-9a-f]\{32\} \([0-9]*\)$/ 00000000000000000000000000000000 \1/' ../cache
printf 'xxh64 %s\n' "$("$leat" sum -a xxh64 ../cache | cut -c -16)" >>../cache
sed -i '1s/^..../0000/; 2d' $list
update 'damaged' 1 --cache ../cache --paranoid --accept=changed f
said $'f/1: FAILED\n' \
    "f/1: differs from its stored digest, but its size and times are the same" \
    "f/3: differs from its stored digest, but its size and times are the same" \
    "f/4: differs from its stored digest, but its size and times are the same" \
    "WARNING: 1 computed checksum did NOT match" \
    "f/2: differs from its stored digest, but its size and times are the same"
untouched

# The file beside the list has a name that is short enough.
long=$(printf 'x%.0s' {1..255})
mkdir ../long
md5sum f/1 >../long/"$long"
what='a list with a long name'
"$leat" sum --update=../long/"$long" --cache=../long/"y${long:1}" f >"$out/got" 2>"$out/got.err"
is "$what: status" 0 $?
same "$what: messages" /dev/null "$out/got.err"
md5sum f/* >"$out/wanted"
same "$what: the list" "$out/wanted" ../long/"$long"
is "$what: files" 2 "$(find ../long -type f | wc -l)"

# A list whose digests are all wrong may be of another algorithm.
md5sum f/1 f/2 | sed 's/^..../0000/' >$list
update 'all wrong' 1 --accept=changed f
grep -q 'no digest is right, so it is left alone' "$out/got.err" || fail "$what: no message"
untouched
update 'all wrong, named' 0 --accept=changed -a md5 f
md5sum f/1 f/2 f/3 f/4 | has

# A run that ends early, or cannot go on, leaves the list as it was.
md5sum f/1 f/2 >$list
mkfifo ../fifo
# In the background SIGINT is ignored.
for signal in HUP TERM KILL; do
    what="stopped by $signal"
    cp $list "$out/before"
    "$leat" sum --update=$list f ../fifo >"$out/got" 2>&1 &
    exec 5>../fifo # opens when leat has opened it
    kill -s $signal $!
    wait $! 2>/dev/null
    [ $? -gt 128 ] || fail "$what: status"
    exec 5>&-
    untouched
done
what='the output is full'
"$leat" sum --update=$list f >/dev/full 2>"$out/got"
is "$what: status" 1 $?
untouched
what='the list is longer than a file may be'
mkdir many
touch many/{1..40}
(ulimit -f 1 && exec "$leat" sum --update=$list many) >"$out/got" 2>"$out/got.err"
is "$what: status" 1 $?
is "$what: messages" "leat sum: $list: cannot be written: File too large" "$(cat "$out/got.err")"
untouched
rm -r many
rm f/1
update --fail-fast 1 --fail-fast f
untouched
echo 1 >f/1
cp f/1 $list
update 'no list' 1 f
said '' '../list: no properly formatted checksum lines found'
untouched
md5sum f/1 f/2 >$list
{
    yes | head -c 2300000 | tr -d '\n'
    echo
} >>$list
update 'a line without end' 1 f
grep -q 'line of more than 1 MiB, and is left alone' "$out/got.err" || fail "$what: no message"
untouched
"$leat" sum --update="$list" f 2>&1 | cat >"$out/got"
grep -q 'and is left alone' "$out/got" || fail "$what: no message in a pipe"
untouched
md5sum f/1 f/2 >$list
chmod 400 $list
if ! : 2>/dev/null >>$list; then
    update 'read-only' 1 f
    said '' "$list: Permission denied"
fi
chmod 600 $list
what='changed meanwhile'
"$leat" sum --update=$list f ../fifo >"$out/got" 2>"$out/got.err" &
exec 5>../fifo
echo '# another one' >>$list
cp $list "$out/before"
exec 5>&-
wait $!
is "$what: status" 1 $?
is "$what" "leat sum: $list: has been changed meanwhile, and is left alone" "$(cat "$out/got.err")"
untouched
# It may be changed even while the new list is written beside it.
what='changed while it is written'
{
    md5sum f/1
    yes "# $(printf -- '-%.0s' {1..500})" | head -c 50M
    echo
} >$list
"$leat" sum --update=$list f >"$out/got" 2>"$out/got.err" &
until compgen -G "$list.??????" >"$out/beside" || ! kill -0 $! 2>/dev/null; do
    :
done
kill -s STOP $! 2>/dev/null
echo '# another one' >>$list
kill -s CONT $! 2>/dev/null
wait $!
is "$what" '# another one' "$(tail -n 1 $list)"
md5sum f/1 f/2 >$list
for name in nosuch . ../fifo; do
    "$leat" sum --update=$name f >"$out/got" 2>&1
    is "$name: status" 1 $?
    grep -q "^leat sum: $name: " "$out/got" || fail "$name: no message"
done
[ ! -e nosuch ] || fail 'a list was made'

cp $list "$out/before"
what='standard input'
"$leat" sum --update=$list f/1 - <f/2 >"$out/got" 2>"$out/got.err"
is "$what: status" 1 $?
said '' "'standard input': cannot be added to a list"
untouched

# refused ARGUMENT...
refused() {
    "$leat" sum "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$*: status" 1 $?
    same "$*: output" /dev/null "$out/got"
    grep -q "^Try 'leat sum --help'" "$out/got.err" || fail "$*: no message"
}
for arguments in '' '-c f' '--strict-tree=f f' '--ignore-missing f' '--tag f' '-b f' '-z f' \
    '--accept=all f' '--accept= f' '--paranoid f'; do
    # shellcheck disable=SC2086
    refused --update=$list $arguments
done
refused --update= f
refused --update=- f
refused --accept=changed f
refused --accept=missing -c $list
cp $list "$out/before"
untouched

# Many files, many threads.
mkdir many
for i in {1..3000}; do
    echo "$i" >"many/$i"
done
"$leat" sum many >../all
awk 'NR % 3' ../all >$list
update many 0 many
is 'many: added' 1000 "$(grep -c ': ADDED$' "$out/got")"
has <../all

finish
