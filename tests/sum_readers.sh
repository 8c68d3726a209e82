#!/usr/bin/env bash
# A rotational disk is read one file at a time, each from its beginning to its end, except for what
# the cache has.
. "$(dirname "$0")/sum_common.bash"

mkdir files
for i in {10..29}; do
    head -c $((i * 30000)) /dev/urandom >"files/$i"
    echo "$i" >"files/$i.small"
done
sync
md5sum files/* >"$out/wanted"

# This disk in a /sys of our own: rotational or not, by itself or as a partition of another.
device=$(perl -e '$d = (stat("files"))[0];
    printf("%u:%u", ($d >> 8) & 0xfff, ($d & 0xff) | (($d >> 12) & 0xfff00))')
turns=$work/turns still=$work/still part=$work/part
for sys in "$turns" "$still"; do
    mkdir -p "$sys/dev/block/$device/queue"
done
echo 1 >"$turns/dev/block/$device/queue/rotational"
echo 0 >"$still/dev/block/$device/queue/rotational"
mkdir -p "$part/disk/$device" "$part/disk/queue" "$part/dev/block"
ln -s "../../disk/$device" "$part/dev/block/$device"
echo 1 >"$part/disk/queue/rotational"

# forget: makes the system drop the files from its cache
forget() {
    local file
    for file in files/*; do
        dd if="$file" iflag=nocache count=0 status=none 2>"$out/dd" || return
    done
}

for sys in "$turns" "$still" "$part"; do
    export LEAT_SYSFS=$sys
    for arguments in '-j 1' '-j 4' '-j 4 --readers=1' '-j 4 --readers=3' '-j 3 -a sha256'; do
        wanted=$out/wanted
        case $arguments in
        *sha256) sha256sum files/* >"$out/wanted256" && wanted=$out/wanted256 ;;
        esac
        for paths in files 'files/*'; do
            forget
            # shellcheck disable=SC2086
            "$leat" sum $arguments $paths >"$out/got" 2>&1
            is "${sys##*/}, $arguments, $paths: status" 0 $?
            same "${sys##*/}, $arguments, $paths" "$wanted" "$out/got"
        done
    done
    forget
    "$leat" sum -j 4 -c --quiet "$out/wanted" || fail "${sys##*/}: check"
done
for count in 0 -1 x ''; do
    "$leat" sum --readers="$count" files >"$out/got" 2>&1
    is "--readers=$count: status" 1 $?
    is "--readers=$count: message" \
        "leat sum: invalid argument '$count' for '--readers': it takes a number above 0" \
        "$(head -n 1 "$out/got")"
done

# A halt ends the wait for a turn.
for seconds in 0.003 0.01 0.02; do
    forget
    LEAT_SYSFS=$turns timeout -k 20 --preserve-status -s INT $seconds \
        "$leat" sum -j 8 files >"$out/got" 2>&1
    case $? in
    0 | 130) ;;
    *) fail "interrupted after $seconds: status" ;;
    esac
done

[ -z "${LEAT_SANITIZE:-}" ] || finish
strace -o "$out/strace" true 2>/dev/null || {
    echo 'without a look at the system calls: there is no strace'
    finish
}

# reads ARGUMENT...: counts in $again how often it went back to a file after it had read another
# from the disk
reads() {
    forget
    strace -f -y -e trace=read,preadv2,fadvise64 -o "$out/strace" "$leat" sum "$@" files >"$out/got"
    same "$*, looked at" "$out/wanted" "$out/got"
    again=$(perl -ne '
        next unless /\bread\(\d+<[^>]*\/(files\/[^>]*)>/;
        $again++ if defined $last && $last ne $1 && $seen{$1};
        $seen{$1} = 1;
        $last = $1;
        END { print $again + 0 }' "$out/strace")
}

# strictly WHAT ARGUMENT...: it must not go back to a file. Asking for what the cache has makes the
# system read ahead, and a quick disk may deliver before the answer: then a digester begins several
# files without a turn, and continues them in one turn. So this tries a few times.
strictly() {
    local what=$1
    shift
    for _ in {1..6}; do
        reads "$@"
        [ "$again" -gt 0 ] || break
    done
    is "$what: files gone back to" 0 "$again"
}
export LEAT_QUICK=0
LEAT_SYSFS=$turns
reads -j 4
if ! grep -q 'preadv2.*EAGAIN' "$out/strace"; then
    echo 'without a look at the order of reads: this file system forgets nothing'
    finish
fi
strictly 'a rotational disk' -j 4
! grep -q FADV_WILLNEED "$out/strace" || fail 'a rotational disk was asked for several files'
LEAT_QUICK=1000000000
reads -j 4
grep -q FADV_WILLNEED "$out/strace" ||
    fail 'a disk that says it turns, and is quick, was not asked for several files'
LEAT_QUICK=0
LEAT_SYSFS=$part
strictly 'a part of a rotational disk' -j 4
LEAT_SYSFS=$still
strictly 'a bound' -j 4 --readers=1
LEAT_QUICK=1000000000
strictly 'a bound of a quick disk' -j 4 --readers=1
! grep -q FADV_WILLNEED "$out/strace" || fail 'a disk of one reader was asked for several files'
for _ in {1..6}; do # on a busy machine one reader may have read all before others come
    reads -j 4 --readers=4
    [ "$again" = 0 ] || break
done
[ "$again" -gt 0 ] || fail 'one at a time in spite of --readers=4'

# Long files of a disk that claims to be rotational: a second reader is tried within the first file.
# If the disk is slow, but two readers get twice as much, files are read together. strace makes each
# read slow. Other programs may take the second reader's time just then: so this tries a few times.
rm files/*
for i in 1 2 3; do
    head -c 8000000 /dev/urandom >"files/$i"
done
sync
LEAT_SYSFS=$turns
# together: counts in $again how often it turned from a file to another before the first was at its
# end
together() {
    forget
    strace -f -y -e trace=read -e inject=read:delay_enter=4000 -o "$out/strace" "$leat" sum "$@" \
        files >"$out/got"
    md5sum files/* | same "$*, slowly" - "$out/got"
    again=$(perl -ne '
        next unless /\bread\(\d+<[^>]*\/(files\/[^>]*)>/;
        $again++ if defined $last && $last ne $1 && $seen{$1};
        $seen{$1} = 1;
        $last = $1;
        END { print $again + 0 }' "$out/strace")
}
unset LEAT_QUICK
for _ in {1..6}; do
    together -j 2
    [ "$again" -le 5 ] || break
done
[ "$again" -gt 5 ] || fail "long files of a slow disk: $again changes between files"
together -j 2 --readers=1
is 'long files, one reader: changes between files' 0 "$again"

finish
