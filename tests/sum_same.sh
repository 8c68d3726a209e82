#!/usr/bin/env bash
# --find-moved and --duplicates: listed files that are elsewhere now, and those that are the same.
. "$(dirname "$0")/sum_common.bash"

# check WHAT STATUS ARGUMENT...: checks ../list
check() {
    local status=$2
    what=$1
    shift 2
    "$leat" sum -c ../list "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$what: status" "$status" $?
}
make_tree() {
    rm -rf t
    mkdir -p t/a t/b
    for file in t/1 t/2 t/a/3 t/a/4 t/b/5; do
        echo "$file" >"$file"
    done
    : >t/empty
    : >t/void
}

# Without a missing file, and without the options, nothing is different.
make_tree
"$leat" sum t >../list
md5sum -c ../list >"$out/all" 2>&1
for options in '' --find-moved=t '--find-moved=t --find-moved=nosuch' --duplicates; do
    # shellcheck disable=SC2086
    check "all there, '$options'" 0 $options
    said "$(cat "$out/all")
"
done

mv t/a/3 t/b/three
mv t/1 $'t/b/line\nfeed'
rm t/2 t/empty
: >t/none
check 'no option' 1
cp "$out/got" "$out/plain" && cp "$out/got.err" "$out/plain.err"
md5sum -c ../list >"$out/wanted" 2>"$out/wanted.err"
same 'no option: as md5sum' "$out/wanted" "$out/plain"
sed -i 's/^md5sum/leat sum/' "$out/wanted.err"
same 'no option: as md5sum, messages' "$out/wanted.err" "$out/plain.err"
found='\t/1: MOVED TO t/b/line\nfeed
t/a/3: MOVED TO t/b/three
'
left='t/2: FAILED open or read
t/empty: FAILED open or read
'
messages=('t/2: No such file or directory' 't/empty: No such file or directory'
    'WARNING: 2 listed files have moved' 'WARNING: 2 listed files could not be read')
check 'moved' 1 --find-moved=t
said $'t/a/4: OK\nt/b/5: OK\nt/void: OK\n'"$found$left" "${messages[@]}"
check '--quiet' 1 --quiet --find-moved=t/b --find-moved=t --find-moved="$PWD/t"
said "$found$left" "${messages[@]}"
check '--ignore-missing' 0 --quiet --ignore-missing --find-moved=t
said "$found" 'WARNING: 2 listed files have moved'
check '--status' 1 --status --find-moved=t
said '' 't/2: No such file or directory' 't/empty: No such file or directory'
check '--json' 0 --json --quiet --ignore-missing --find-moved=t/b
said '{"path":"t/1","verdict":"MOVED","other":"t/b/line\u000afeed"}
{"path":"t/a/3","verdict":"MOVED","other":"t/b/three"}
' 'WARNING: 2 listed files have moved'
check 'another folder' 1 --quiet --find-moved=t/a
said $'t/1: FAILED open or read\nt/2: FAILED open or read
t/a/3: FAILED open or read\nt/empty: FAILED open or read\n' \
    t/{1,2,a/3,empty}': No such file or directory' 'WARNING: 4 listed files could not be read'
check --exclude 0 --quiet --find-moved=t --exclude=three --ignore-missing
said '\t/1: MOVED TO t/b/line\nfeed
' 'WARNING: 1 listed file has moved'
check '--strict-tree as well' 1 --quiet --ignore-missing --find-moved=t --strict-tree=t/b
said "$found"'\t/b/line\nfeed: NOT LISTED
t/b/three: NOT LISTED
' 'WARNING: 2 listed files have moved' 'WARNING: 2 files are not listed'
check 'a folder that is not there' 1 --ignore-missing --quiet --find-moved=nosuch
said '' 'nosuch: No such file or directory'
"$leat" sum -c --quiet --ignore-missing --find-moved=t ../nosuch ../list >"$out/got" \
    2>"$out/got.err"
what='a list that is not there'
said '' '../nosuch: No such file or directory'

# A list of which all files have moved has verified them; one without any has not.
make_tree
"$leat" sum t/a >../list
printf '%032d  nosuch\n' 0 >../nothing
mv t/a t/c
check 'all have moved' 0 --ignore-missing --find-moved=t
said $'t/a/3: MOVED TO t/c/3\nt/a/4: MOVED TO t/c/4\n' 'WARNING: 2 listed files have moved'
check 'another list has none' 1 --ignore-missing --find-moved=t ../nothing
said $'t/a/3: MOVED TO t/c/3\nt/a/4: MOVED TO t/c/4\n' \
    '../nothing: no file was verified' 'WARNING: 2 listed files have moved'

# Every digest; two at a time; a cache; one that says too little.
for digests in sha1 sha256 xxh3 md5,sha256 crc32c; do
    make_tree
    "$leat" sum -a $digests t >../list
    mv t/1 t/b/one
    for options in "-a $digests" "-a $digests --cache=../cache"; do
        # shellcheck disable=SC2086
        check "$options" 1 --quiet $options --find-moved=t
        case $digests in
        crc32c) said $'t/1: FAILED open or read\n' 't/1: No such file or directory' \
            'WARNING: 1 listed file could not be read' ;;
        *,*) said $'t/1: MOVED TO t/b/one\nt/1: MOVED TO t/b/one\n' \
            'WARNING: 2 listed files have moved' ;;
        *) said $'t/1: MOVED TO t/b/one\n' 'WARNING: 1 listed file has moved' ;;
        esac
    done
done

# Digests of several lengths.
make_tree
{
    b2sum -l 256 --tag t/1
    b2sum --tag t/2
    md5sum --tag t/a/3
    b2sum -l 128 --tag t/a/4
} >../list
mv t/1 t/b/one
mv t/2 t/b/two
mv t/a/3 t/b/three
mv t/a/4 t/b/four
check 'lengths' 1 --find-moved=t
sort "$out/got" >../sorted
mv ../sorted "$out/got"
said $'t/1: MOVED TO t/b/one\nt/2: MOVED TO t/b/two\nt/a/3: MOVED TO t/b/three
t/a/4: MOVED TO t/b/four\n' 'WARNING: 4 listed files have moved'

# Copies: each missing file gets its own copy, and listed files have not been moved there.
make_tree
cp t/1 t/one
cp t/1 t/uno
"$leat" sum t >../list
mv t/1 t/x
mv t/uno t/y
check 'copies' 1 --quiet --find-moved=t
said $'t/1: MOVED TO t/x\nt/uno: MOVED TO t/y\n' 'WARNING: 2 listed files have moved'
rm t/y
check 'fewer than copies' 0 --quiet --ignore-missing --find-moved=t
said $'t/1: MOVED TO t/x\n' 'WARNING: 1 listed file has moved'
make_tree
echo t/1 >t/x
echo t/1 >t/y
"$leat" sum t >../list
check --duplicates 0 --duplicates
said "$(sed 's/.*  //; s/$/: OK/; s,^\(t/[xy]\): OK$,&\n\1: SAME AS t/1,' ../list)
"
check '--duplicates --quiet' 0 --duplicates --quiet
said $'t/x: SAME AS t/1\nt/y: SAME AS t/1\n'
check '--duplicates --json' 0 --duplicates --quiet --json
said '{"path":"t/x","verdict":"SAME","other":"t/1"}
{"path":"t/y","verdict":"SAME","other":"t/1"}
'
check '--duplicates --status' 0 --duplicates --status
said ''
echo changed >t/x
sed -n 1p ../list >>../list
check 'only files that are right' 1 --duplicates --quiet
said $'t/x: FAILED\nt/y: SAME AS t/1\n' 'WARNING: 1 computed checksum did NOT match'

# Many of both.
mkdir many new
for i in {1..2000}; do
    echo "$((i % 500))" >"many/$i"
done
"$leat" sum many >../list
check many 0 --quiet --duplicates
is 'many: duplicates' 1500 "$(grep -c ': SAME AS ' "$out/got")"
mv many/* new
check many 1 --quiet --find-moved=new
is 'many: moved' 2000 "$(grep -c ': MOVED TO new/' "$out/got")"
is 'many: each to another one' 2000 "$(sed 's/.* TO //' "$out/got" | sort -u | wc -l)"

for option in --find-moved=t --duplicates; do
    "$leat" sum $option t >"$out/got" 2>&1
    is "$option, no check: status" 1 $?
    is "$option, no check" \
        "leat sum: the ${option%=t} option is meaningful only when verifying checksums" \
        "$(head -n 1 "$out/got")"
done

finish
