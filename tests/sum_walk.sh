#!/usr/bin/env bash
# Folders: every regular file, in the order of the bytes of the paths; links, loops, special files.
. "$(dirname "$0")/sum_common.bash"

# wanted FOLDER...: prints all files of each folder, in order, as lines of `leat sum -z`
wanted() {
    local folder
    for folder; do
        find "$folder" -type f -print0 | xargs -0r md5sum -z -- | sort -z -k 2
    done >"$out/wanted"
}

# walk ARGUMENT...: runs leat sum; its output is in got, got.err and status
walk() {
    "$leat" sum --no-progress "$@" >"$out/got" 2>"$out/got.err"
    status=$?
}

# Names that sort differently as names and as paths, odd ones, many, deep ones, none.
mkdir -p t/a t/a.b t/a-b t/a0 t/A t/ä "t/with space" t/-n t/empty/empty $'t/line\nfeed' $'t/\xff' \
    t/a/b/c/d
for folder in t t/a t/a.b t/a-b t/a0 t/A t/ä "t/with space" t/-n $'t/line\nfeed' $'t/\xff' \
    t/a/b/c/d; do
    for name in f a.c a0.c 'a c' .hidden $'\x01' -- '*' '\' $'\n' $'\xc3\xa9' $'\xfe'; do
        echo "$folder$name" >"$folder/$name"
    done
done
ln t/f t/hard
for i in {1..3000}; do
    echo "$i" >"t/a0/a file whose name makes the folder long $i"
done
wanted t
for jobs in 1 2 7; do
    walk -z -j "$jobs" t
    is "-j $jobs: status" 0 "$status"
    same "-j $jobs" "$out/wanted" "$out/got"
    same "-j $jobs: messages" /dev/null "$out/got.err"
done
for path in t/ t// ./t "$PWD/t" t/a/../a; do
    wanted "$path"
    walk -z "$path"
    same "$path" "$out/wanted" "$out/got"
done
(cd t && wanted . && walk -z . && same . "$out/wanted" "$out/got")
wanted t/a0 t/A t/a0 t/f
walk -z t/a0 t/A t/a0 t/f
same 'several paths, in the order given' "$out/wanted" "$out/got"

# The list of a walk checks.
walk t
"$leat" sum -c --quiet "$out/got" || fail 'the list does not check'

# With few descriptors.
wanted t
(
    ulimit -n 24
    walk -z -j 64 t
    is 'few descriptors: status' 0 "$status"
    same 'few descriptors' "$out/wanted" "$out/got"
    exit "$((failures > 0))"
) || failures=$((failures + 1))

# With hardly any, because the limit is low or others are open: `ulimit` also counts those that the
# shell hands on. No file fails, and none waits for a descriptor in vain: that would take a second.
wanted t
for free in 6 7 8 12; do
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            [ "$fd" -lt 3 ] || eval "exec $fd>&-"
        done 2>/dev/null
        for fd in {3..12}; do
            eval "exec $fd</dev/null"
        done
        ulimit -n $((13 + free))
        timeout 100 "$leat" sum -z -j 8 --no-progress t >"$out/got" 2>"$out/got.err"
        is "$free free descriptors: status" 0 $?
        same "$free free descriptors" "$out/wanted" "$out/got"
        same "$free free descriptors: messages" /dev/null "$out/got.err"
        exit "$((failures > 0))"
    ) || failures=$((failures + 1))
done
(ulimit -n 6 && timeout 100 "$leat" sum t) >"$out/got" 2>&1
is 'too few descriptors: status' 1 $?
is 'too few descriptors' 'leat sum: cannot continue: Too many open files' "$(cat "$out/got")"

# A tree deeper than the longest path, with files that come after the folders on the way up.
perl -e '
    mkdir "deep"; chdir "deep";
    my $name = "x" x 50;
    for (1 .. 500) {
        for ("a", "z") { open(my $f, ">", $_) or die; print $f $_; }
        mkdir $name; chdir $name or die;
    }'
walk deep
is 'a deep tree: status' 0 "$status"
is 'a deep tree: files' 1000 "$(wc -l <"$out/got")"
is 'a deep tree: digests' \
    "$(for n in a z; do printf '%s  -\n' "$(printf %s "$n" | md5sum | cut -c -32)"; done |
        sort | tr '\n' ' ')" \
    "$(cut -c -32 "$out/got" | sort -u | sed 's/$/  -/' | tr '\n' ' ')"
sort -c -k 2 "$out/got" || fail 'a deep tree: order'
cp "$out/got" "$out/deep"
(
    ulimit -n 24
    walk deep
    same 'a deep tree with few descriptors' "$out/deep" "$out/got"
    exit "$((failures > 0))"
) || failures=$((failures + 1))

# Links: those in folders are not followed, a link that the user names is.
mkdir -p l/inner elsewhere
echo 1 >l/inner/file
echo 2 >elsewhere/file
ln -s ../elsewhere l/folder
ln -s ../elsewhere/file l/file
ln -s nowhere l/dangling
ln -s elsewhere named
walk l
is 'links: status' 0 "$status"
same 'links: messages' /dev/null "$out/got.err"
md5sum l/inner/file >"$out/wanted"
same links "$out/wanted" "$out/got"
md5sum named/file >"$out/wanted"
walk named
same 'a link that is named' "$out/wanted" "$out/got"

# With -L those in folders are followed, too, each under its own name.
walk -L l
is '-L: status' 1 "$status"
md5sum l/file l/folder/file l/inner/file >"$out/wanted"
same -L "$out/wanted" "$out/got"
echo 'leat sum: l/dangling: No such file or directory' >"$out/wanted"
same '-L: messages' "$out/wanted" "$out/got.err"

# Loops, direct and through each other; the same folder twice is no loop.
mkdir -p loop/a/b loop/c loop/e
echo 1 >loop/a/b/file
ln -s . loop/a/self
ln -s ../.. loop/a/b/up
ln -s ../c loop/e/c
ln -s ../e loop/c/e
ln -s a loop/twin
walk -L loop
is 'loops: status' 0 "$status"
md5sum loop/a/b/file loop/twin/b/file >"$out/wanted"
same loops "$out/wanted" "$out/got"
for link in a/b/up a/self c/e/c e/c/e twin/b/up twin/self; do
    echo "leat sum: loop/$link: leads back to a folder above it, skipped"
done >"$out/wanted"
same 'loops: messages' "$out/wanted" "$out/got.err"

# Special files are skipped, with a message.
mkdir special
echo 1 >special/file
mkfifo special/fifo
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "special/socket", Listen => 1) or die' ||
    ln -s nowhere special/socket
ln -s fifo special/link
for arguments in special '-L special'; do
    # shellcheck disable=SC2086
    walk $arguments
    is "special files ($arguments): status" 0 "$status"
    md5sum special/file >"$out/wanted"
    same "special files ($arguments)" "$out/wanted" "$out/got"
    grep -qx 'leat sum: special/fifo: is a FIFO, skipped' "$out/got.err" || fail 'no note of a FIFO'
    [ ! -S special/socket ] ||
        grep -qx 'leat sum: special/socket: is a socket, skipped' "$out/got.err" ||
        fail 'no note of a socket'
done
grep -qx 'leat sum: special/link: is a FIFO, skipped' "$out/got.err" || fail 'no note of a link'

# The output itself, which would differ from its digest: whether it is new, appended to, or a link.
mkdir -p own/below
echo 1 >own/a
echo 2 >own/below/z
(cd own && find . -type f -print0 | sort -z | xargs -0 md5sum) >"$out/wanted"
for arguments in '-j 1' '-L -j 2'; do
    : >own/list
    (cd own && ln -f list below/list && eval "\"\$leat\" sum $arguments . >>list") 2>"$out/got.err"
    is "the output ($arguments): status" 0 $?
    same "the output ($arguments)" "$out/wanted" own/list
    printf 'leat sum: %s: is the output, skipped\n' ./below/list ./list >"$out/said"
    same "the output ($arguments): messages" "$out/said" "$out/got.err"
done
(cd own && rm below/list && ln -s ../list below/link && "$leat" sum -L . >list) 2>"$out/got.err"
is 'a link to the output: status' 0 $?
same 'a link to the output' "$out/wanted" own/list
printf 'leat sum: %s: is the output, skipped\n' ./below/link ./list >"$out/said"
same 'a link to the output: messages' "$out/said" "$out/got.err"
(cd own && rm below/link && "$leat" sum -c list --strict-tree=. >below/result 2>"$out/got.err")
is 'the output of a check: status' 0 $?
printf '%s: OK\n' ./a ./below/z | same 'the output of a check' - own/below/result
(cd own && rm below/result && "$leat" sum -c --quiet list) ||
    fail 'the list of a folder does not check'

# A file or folder that may not be read is reported in its place, and the rest is read.
mkdir -p u/closed u/open
echo 1 >u/closed/file
echo 2 >u/open/a
echo 3 >u/open/b
echo 4 >u/z
chmod 0 u/closed u/open/a
as_nobody=()
[ "$(id -u)" -eq 0 ] && as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
chmod a+rx "$work" "$work/tree"
install -m 755 "$leat" "$work/leat"
if "${as_nobody[@]}" "$work/leat" --version >"$out/got" 2>&1; then
    "${as_nobody[@]}" "$work/leat" sum u >"$out/got" 2>&1
    is 'unreadable: status' 1 $?
    {
        echo 'leat sum: u/closed: Permission denied'
        echo 'leat sum: u/open/a: Permission denied'
        md5sum u/open/b u/z
    } >"$out/wanted"
    same unreadable "$out/wanted" "$out/got"
    "${as_nobody[@]}" "$work/leat" sum --fail-fast u/z u >"$out/got" 2>&1
    is 'unreadable, --fail-fast: status' 1 $?
    {
        md5sum u/z
        echo 'leat sum: u/closed: Permission denied'
    } >"$out/wanted"
    same 'unreadable, --fail-fast' "$out/wanted" "$out/got"
fi

# Files that come, go, and turn into FIFOs and links during the walk: nothing hangs, and only
# regular files with their own content are digested.
mkdir moving
echo secret >secret
for i in {1..300}; do
    echo "$i" >"moving/$i"
done
(
    while :; do
        for i in {1..300}; do
            case $((RANDOM % 4)) in
            0) rm -f "moving/$i" && mkfifo "moving/$i" ;;
            1) ln -sfn ../secret "moving/$i" ;;
            2) rm -f "moving/$i" ;;
            3) rm -f "moving/$i" && echo "$i" >"moving/$i" ;;
            esac
        done
    done
) 2>/dev/null &
mover=$!
bad=$(md5sum <secret | cut -c -32)
for _ in {1..20}; do
    timeout 100 "$leat" sum moving >"$out/got" 2>"$out/got.err"
    status=$?
    [ "$status" -le 1 ] || fail "moving files: status $status"
    grep -q "^$bad" "$out/got" && fail 'moving files: led astray'
    grep -Evq '^[0-9a-f]{32}  moving/[0-9]+$' "$out/got" && fail 'moving files: an odd line'
    grep -Ev '(No such file or directory|Too many levels of symbolic links|skipped)$' \
        "$out/got.err" &&
        fail 'moving files: an odd message'
done
kill "$mover"
wait "$mover" 2>/dev/null

# A file that takes long does not stop the walk, though nothing after it can be printed before.
if strace -o "$out/strace" true 2>/dev/null && [ -z "${LEAT_SANITIZE:-}" ]; then
    mkdir -p many/{1000..2999}
    touch many/{1000..2999}/file
    mkfifo long
    strace -f -e trace=openat -o "$out/strace" "$leat" sum -j 2 long many >"$out/got" &
    exec 3>long
    for _ in {1..600}; do
        opened=$(grep -c '"file"' "$out/strace")
        [ "$opened" -lt 2000 ] || break
        sleep 0.1
    done
    is 'files opened behind one that takes long' 2000 "$opened"
    exec 3>&-
    wait $!
    is 'and printed' 2001 "$(wc -l <"$out/got")"
fi

finish
