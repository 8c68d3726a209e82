#!/usr/bin/env bash
# Called as xxh128sum, sha3sum or b3sum, leat takes the options of that program and prints what it
# prints.
. "$(dirname "$0")/sum_common.bash"

mkdir ../bin folder
for name in xxh128sum sha3sum b3sum; do
    ln -s "$leat" "../bin/$name"
done
ours() {
    local name=$1
    shift
    "../bin/$name" "$@"
}
# says WHAT STATUS WANTED PROGRAM ARGUMENT...: compares all that it prints, without its path
says() {
    local what=$1 status=$2 wanted=$3 got
    shift 3
    got=$(ours "$@" 2>&1 </dev/null)
    is "$what: status" "$status" $?
    is "$what" "$wanted" "${got//..\/bin\//}"
}

printf abc >abc
printf 'x%.0s' {1..5000} >'five thousand'
: >empty
: >'a\b'
: >$'a\nb'
plain=(abc 'five thousand' empty)

# The output of both programs, whether or not the other one is installed.
says 'xxh128sum' 0 '06b05ab6733a618578af5f94892f3950  abc' xxh128sum abc
says 'xxh128sum --tag' 0 'XXH128 (abc) = 06b05ab6733a618578af5f94892f3950' xxh128sum --tag abc
says 'xxh128sum -H1' 0 '44bc2cf5ad770999  abc' xxh128sum -H1 abc
says 'xxh128sum -H64' 0 '44bc2cf5ad770999  abc' xxh128sum -H64 abc
says 'xxh128sum -H3' 0 'XXH3 (abc) = 78af5f94892f3950' xxh128sum -H3 abc
says 'sha3sum' 0 'e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf  abc' sha3sum abc
says 'sha3sum -b' 0 'e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf *abc' \
    sha3sum -b abc
says 'sha3sum --tag' 0 \
    'SHA3-256 (abc) = 3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532' \
    sha3sum -a 256 --tag abc
says 'b3sum' 0 '6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85  abc' b3sum abc
says 'b3sum --tag' 0 \
    'BLAKE3 (abc) = 6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85' \
    b3sum --tag abc
says 'an odd name' 0 '\99aa06d3014798d86001c324468d497f  a\\b' xxh128sum 'a\b'
says 'a folder' 1 'xxh128sum: folder: Is a directory' xxh128sum folder
says 'no file' 1 'sha3sum: nosuch: No such file or directory' sha3sum nosuch

# A list of one shows its digests by their lengths and tags.
{
    for bits in 224 256 384 512; do
        ours sha3sum -a $bits "${plain[@]}" $'a\nb'
        ours sha3sum -a $bits --tag 'a\b'
    done
} >sha3
{
    for n in 1 2 3; do
        ours xxh128sum -H$n "${plain[@]}" $'a\nb' 'a\b'
    done
    ours xxh128sum --tag abc
} >xxh
{
    ours b3sum "${plain[@]}" $'a\nb'
    ours b3sum --tag 'a\b'
} >b3
for case in 'sha3sum sha3 20' 'xxh128sum xxh 16' 'b3sum b3 5'; do
    # shellcheck disable=SC2086
    set -- $case
    is "$2: all" "$3" "$(ours "$1" -c "$2" | grep -c ': OK$')"
    says "$2: --quiet" 0 '' "$1" --quiet -c "$2"
    says "$2: --status" 0 '' "$1" --status -c "$2"
    "$leat" sum -a sha1 abc >other
    says "$2: a list of another" 1 "$1: other: no properly formatted checksum lines found" "$1" \
        -c other
    [ "$1" = b3sum ] || says "$2: -q" 0 '' "$1" -q -c "$2"
    [ "$1" = sha3sum ] || continue
    says "$2: -s" 0 '' "$1" -s -c "$2"
done
"$leat" sum -a xxh128,xxh64,xxh3 -c xxh >"$out/got" 2>&1
is 'xxh under its own name' 0 $?
sed 's/^\(\\*\)..../\10000/' sha3 >wrong
is 'wrong ones' 16 "$(ours sha3sum -c wrong 2>/dev/null | grep -c ': FAILED$')"

# An untagged line is of the digest that had its length first, unless -a says otherwise.
for case in 'sha3-224 sha224' 'sha3-384 sha384' 'sha3-512 sha512'; do
    mine=${case% *}
    "$leat" sum -a "$mine" abc >list
    "$leat" sum -c list >"$out/got" 2>&1 && fail "$mine passes for ${case#* }"
    grep -q " $mine.*: choose with -a" "$out/got" || fail "$mine: no hint"
    is "$mine, named" 'abc: OK' "$("$leat" sum -a "$mine" -c list 2>&1)"
done

# Options that they do not have, or that make no sense.
for case in 'xxh128sum -b' 'xxh128sum -z' 'xxh128sum -H0' 'xxh128sum -H32' 'xxh128sum --json' \
    'xxh128sum --little-endian' 'xxh128sum --quiet' 'xxh128sum -c --tag' \
    'sha3sum -z' 'sha3sum -a 128000' 'sha3sum -a sha256' 'sha3sum -U' 'sha3sum -0' \
    'sha3sum -j 2' 'sha3sum -s' \
    'b3sum -q -c' 'b3sum -z' 'b3sum -a sha256' 'b3sum -l 64' 'b3sum --length=64' 'b3sum --keyed' \
    'b3sum --derive-key=x' 'b3sum --no-names' 'b3sum --raw' 'b3sum --quiet'; do
    # shellcheck disable=SC2086
    set -- $case
    ours "$@" abc >"$out/got" 2>"$out/got.err"
    is "$case: status" 1 $?
    same "$case: output" /dev/null "$out/got"
    [ -s "$out/got.err" ] || fail "$case: no message"
done
says 'an option that it lacks' 1 "b3sum: unrecognized option '--raw'
Try 'b3sum --help' for more information." b3sum --raw abc
for name in xxh128sum sha3sum b3sum; do
    is "$name --help" "Usage: ../bin/$name [OPTION]... [FILE]..." \
        "$(ours $name -h | head -n 1)"
done
case $(ours xxh128sum -V)$(ours sha3sum -v)$(ours b3sum -V) in
'xxh128sum (leat) '*'sha3sum (leat) '*'b3sum (leat) '*) ;;
*) fail 'the version' ;;
esac

# The other programs agree, as far as they are there. xxhsum 0.8.1 does not escape names.
there=0
if xxh128sum --version >/dev/null 2>&1; then
    there=1
    for options in -H1 -H2 --tag; do
        xxh128sum $options "${plain[@]}" >"$out/wanted" 2>/dev/null
        ours xxh128sum $options "${plain[@]}" >"$out/got"
        same "xxh128sum $options" "$out/wanted" "$out/got"
        xxh128sum -c "$out/got" >"$out/wanted" 2>/dev/null
        is "xxh128sum $options checks ours" 0 $?
        ours xxh128sum -c "$out/got" >"$out/checked"
        same "xxh128sum $options: a check" "$out/wanted" "$out/checked"
    done
fi
if sha3sum --version >/dev/null 2>&1; then
    there=1
    for bits in 224 256 384 512; do
        for form in '' -b --tag; do
            # shellcheck disable=SC2086
            sha3sum -a $bits $form "${plain[@]}" 'a\b' $'a\nb' >"$out/wanted"
            # shellcheck disable=SC2086
            ours sha3sum -a $bits $form "${plain[@]}" 'a\b' $'a\nb' >"$out/got"
            same "sha3sum -a $bits $form" "$out/wanted" "$out/got"
        done
    done
    # In a verdict it does not escape a line feed.
    sed -i '/nb/d' sha3 wrong
    for list in sha3 wrong; do
        sha3sum -c $list >"$out/wanted" 2>"$out/wanted.err"
        status=$?
        ours sha3sum -c $list >"$out/got" 2>"$out/got.err"
        is "sha3sum -c $list: status" "$status" $?
        same "sha3sum -c $list" "$out/wanted" "$out/got"
        sed -i 's,^../bin/,,' "$out/got.err"
        same "sha3sum -c $list: messages" "$out/wanted.err" "$out/got.err"
    done
fi
[ "$failures" -gt 0 ] || [ $there -eq 1 ] || skip 'neither xxh128sum nor sha3sum is there'

finish
