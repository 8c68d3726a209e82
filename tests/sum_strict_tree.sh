#!/usr/bin/env bash
# --strict-tree: files in a tree that no list names.
. "$(dirname "$0")/sum_common.bash"

mkdir -p t/a t/b/c t/empty
for file in t/1 t/a/1 t/b/2 t/b/c/3 $'t/b/line\nfeed' 't/b/with space'; do
    echo "$file" >"$file"
done
ln -s ../1 t/a/link
ln -s t/b other
"$leat" sum t >../list

# check WHAT STATUS ARGUMENT...: runs a check, and leaves out its OK lines
check() {
    local what=$1 status=$2
    shift 2
    "$leat" sum -c --quiet "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$what: status" "$status" $?
}
what=

# Everything is listed, however the list spells the path.
for tree in t t/ ./t "$PWD/t" t/a/.. t/a t/b/c other other/; do
    what=$tree
    check "$what" 0 ../list --strict-tree "$tree"
    said ''
done
for tree in "--strict-tree=t/a --strict-tree=t/b" '--strict-tree t/empty'; do
    what=$tree
    # shellcheck disable=SC2086
    check "$what" 0 $tree ../list
    said ''
done
what='another folder'
"$leat" sum "$PWD/t" >../absolute
(cd t && "$leat" sum . >../../inside)
check "$what" 0 ../absolute --strict-tree t
said ''
(
    cd t/a
    sed 's,  \./,  ../,' ../../../inside >../../../above
    check "$what" 0 ../../../above --strict-tree ..
    said ''
    exit "$((failures > 0))"
) || failures=$((failures + 1))

# Unlisted: a file, a hard link to a listed one, one with an odd name, in the order of the walk.
echo more >t/a/more
ln t/1 t/hard
echo odd >$'t/b/odd\none'
extra='t/a/more: NOT LISTED
\t/b/odd\none: NOT LISTED
t/hard: NOT LISTED
'
what=unlisted
check "$what" 1 ../list --strict-tree t
said "$extra" 'WARNING: 3 files are not listed'
what='one tree of several'
check "$what" 1 ../list --strict-tree t/b/c --strict-tree t/a
said 't/a/more: NOT LISTED
' 'WARNING: 1 file is not listed'
what='overlapping trees'
check "$what" 1 ../list --strict-tree t/a --strict-tree t --strict-tree other
said "$extra" 'WARNING: 3 files are not listed'
what='another tree'
check "$what" 0 ../list --strict-tree t/b/c
said ''
what='through a link'
check "$what" 1 ../list --strict-tree other
said '\other/odd\none: NOT LISTED
' 'WARNING: 1 file is not listed'
what='a list on standard input'
"$leat" sum -c --quiet --strict-tree t <../list >"$out/got" 2>"$out/got.err"
is "$what: status" 1 $?
said "$extra" 'WARNING: 3 files are not listed'
what=--status
check "$what" 1 --status ../list --strict-tree t
said ''
what=--json
check "$what" 1 --json ../list --strict-tree t/a
said '{"path":"t/a/more","verdict":"NOT LISTED"}
' 'WARNING: 1 file is not listed'
what='--fail-fast'
check "$what" 1 --fail-fast ../list --strict-tree t
said 't/a/more: NOT LISTED
'
what='without the option'
check "$what" 0 ../list
said ''
what='-L: a link is a file too'
check "$what" 1 -L ../list --strict-tree t/a
said 't/a/link: NOT LISTED
t/a/more: NOT LISTED
' 'WARNING: 2 files are not listed'
printf '%s  t/a/link\n' "$(md5sum <t/1 | cut -c -32)" >../link
check "$what" 1 -L ../list ../link --strict-tree t/a
said 't/a/more: NOT LISTED
' 'WARNING: 1 file is not listed'

# Several lists together; the lists themselves may be in the tree.
what='several lists'
md5sum t/a/more t/hard >t/b/rest
"$leat" sum $'t/b/odd\none' >t/odd.md5
check "$what" 0 ../list t/b/rest t/odd.md5 --strict-tree t
said ''
check "$what" 1 ../list t/odd.md5 --strict-tree t
said 't/a/more: NOT LISTED
t/b/rest: NOT LISTED
t/hard: NOT LISTED
' 'WARNING: 3 files are not listed'
what='the lists by other ways'
ln -s t/b/rest rest
"$leat" sum -c --quiet ../list rest - --strict-tree t <t/odd.md5 >"$out/got" 2>"$out/got.err"
is "$what: status" 0 $?
said ''
"$leat" sum t >t/all
sed -i '\,t/all$,d' t/all
"$leat" sum -c --quiet --strict-tree t <t/all >"$out/got" 2>"$out/got.err"
is "$what, alone: status" 0 $?
said ''
rm t/b/rest t/odd.md5 t/all rest

# Files that a list names are listed even if they differ or are gone; a bad line names nothing.
what='wrong and gone'
sed '1s/^./x/; 2s/^..../0000/' ../list >../odd
printf '%032d  t/gone/file\n%032d  t/a/gone\n' 0 0 >>../odd
rm $'t/b/odd\none' t/hard
check "$what" 1 ../odd --strict-tree t
grep -v FAILED "$out/got" >"$out/some"
printf '%s: NOT LISTED\n' t/1 t/a/more >"$out/wanted"
same "$what" "$out/wanted" "$out/some"

# If a list cannot be read to its end, unlisted files are not reported.
what='a list that is not there'
check "$what" 1 ../list ../nosuch --strict-tree t
said '' '../nosuch: No such file or directory'
what='a tree that is not there'
check "$what" 1 ../list --strict-tree nosuch
said '' 'nosuch: No such file or directory'
what='a tree that is a file'
check "$what" 1 ../list --strict-tree t/1
said '' 't/1: Not a directory'

# Special files are reported, as in any walk.
what=special
mkfifo t/a/fifo
check "$what" 1 ../list --strict-tree t/a
said 't/a/more: NOT LISTED
' 't/a/fifo: is a FIFO, skipped' 'WARNING: 1 file is not listed'
rm t/a/fifo

# Many files: exactly the unlisted ones are reported.
mkdir many
for i in {1..5000}; do
    : >"many/$i"
done
"$leat" sum many >../many
sed -n '1~7d; p' ../many >../most
check many 1 ../most --strict-tree many
sed -n '1~7{s/^.*  //; s/$/: NOT LISTED/; p}' ../many >"$out/wanted"
same many "$out/wanted" "$out/got"

# Paths longer than the system takes: files, folders, lists, with more '/' than needed.
perl -e '
    mkdir "far"; chdir "far";
    for my $n (1 .. 300) {
        if ($n % 50 == 0) { open(my $f, ">", "file") or die; print $f $n; }
        my $name = "y" x ($n % 60 + 1);
        mkdir $name; chdir $name or die;
    }
    open(my $f, ">", "last") or die; print $f "last";'
"$leat" sum far >../far
is 'long paths: files' 7 "$(wc -l <../far)"
[ "$(sed -n '$s/^.*  //p' ../far | wc -c)" -gt 4096 ] || fail 'no path is long'
for options in '' '-j 1' '--cache=../far.cache' '--cache=../far.cache'; do
    # shellcheck disable=SC2086
    check "long paths, $options" 0 $options ../far --strict-tree far
    said ''
done
what='long paths, one not listed'
sed '$d' ../far >../fewer
check "$what" 1 ../fewer --strict-tree far
said "$(sed -n '$s/^.*  //p' ../far): NOT LISTED
" 'WARNING: 1 file is not listed'
path=$(sed -n '$s/^.*  //p' ../far)
digest=$(printf last | md5sum | cut -c -32)
folder=${path%/last}
for operand in "$path" "$folder/////last" "$folder/../${folder##*/}/./last" "$PWD/$path"; do
    is 'a long operand' "$digest  $operand" "$("$leat" sum "$operand" 2>&1)"
done
for end in '' / ///; do
    is "a long folder, '$end'" "$digest  $folder${end:-/}last" "$("$leat" sum "$folder$end" 2>&1)"
done
(cd far && for _ in {1..300}; do cd y* || exit 1; done &&
    printf '%s\0' "$path" >names && md5sum <last >list) ||
    fail 'no way down'
is 'a long --files0-from' "$digest  $path" "$("$leat" sum --files0-from="$folder/names" 2>&1)"
is 'a long list' '-: OK' "$(printf last | "$leat" sum -c "$folder/list" 2>&1)"
is 'a long path to nothing' "leat sum: ${path}x: No such file or directory" \
    "$("$leat" sum "${path}x" 2>&1)"
name=$(printf '%4200s' '' | tr ' ' n)
is 'a long name' "leat sum: $name: File name too long" "$("$leat" sum "$name" 2>&1)"

what='not in a check'
"$leat" sum --strict-tree t t >"$out/got" 2>&1
is "$what: status" 1 $?
is "$what" 'leat sum: the --strict-tree option is meaningful only when verifying checksums' \
    "$(head -n 1 "$out/got")"

finish
