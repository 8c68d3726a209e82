#!/usr/bin/env bash
# Several digests in one run, and lists whose lines have several.
. "$(dirname "$0")/sum_common.bash"

mkdir names
for name in plain 'with space' $'line\nfeed' 'back\slash' 'end) = x'; do
    printf '%s' "$name" >"names/$name"
done
: >names/empty
head -c 300000 /dev/urandom >names/large
mapfile -t all < <("$leat" sum -a none 2>&1 | sed -n 's/.*it takes //; s/, \| or /\n/g; 1p')
[ "${#all[@]}" -gt 8 ] || fail 'few algorithms'

# wanted ALGORITHM...: the wanted lines, from one run for each algorithm
wanted() {
    local file algorithm
    find names -type f -print0 | sort -z | while IFS= read -r -d '' file; do
        for algorithm; do
            "$leat" sum --tag -a "$algorithm" "$file"
        done
    done >"$out/wanted"
}
for set in md5,sha256 sha256,md5 sha1,blake2b,xxh64 "$(IFS=,; echo "${all[*]}")"; do
    # shellcheck disable=SC2086
    wanted ${set//,/ }
    for jobs in 1 3; do
        "$leat" sum -a "$set" -j "$jobs" names >"$out/got"
        is "$set: status" 0 $?
        same "$set" "$out/wanted" "$out/got"
    done
    # As a list: checked with all its digests, and with some of them.
    is "$set: check" "$(wc -l <"$out/got")" "$("$leat" sum -c "$out/got" | grep -c ': OK$')"
    "$leat" sum -a "${set%%,*}" -c "$out/got" >"$out/some" 2>"$out/some.err"
    is "$set: check of the first: status" 0 $?
    is "$set: check of the first" "$(find names -type f -printf x | wc -c)" \
        "$(grep -c . "$out/some")"
    is "$set: the others" 'WARNING' "$(grep -o WARNING "$out/some.err")"
done
"$leat" sum -a md5,sha256 -z names/plain | tr '\0' '\n' >"$out/got"
"$leat" sum -a md5,sha256 names/plain >"$out/wanted"
same '-z' "$out/wanted" "$out/got"
"$leat" sum -a md5,sha256 --tag -b names/plain >"$out/got"
same '--tag is how it is anyway' "$out/wanted" "$out/got"
"$leat" sum -a md5 -a sha256 names/plain >"$out/got"
sha256sum names/plain >"$out/wanted"
same 'the last -a counts' "$out/wanted" "$out/got"

# From a pipe; and a file that cannot be read, with one message.
cat names/large | "$leat" sum -a md5,sha256 nosuch - >"$out/got" 2>"$out/got.err"
is 'a missing file: status' 1 $?
md5sum --tag - <names/large >"$out/wanted"
sha256sum --tag - <names/large >>"$out/wanted"
same 'standard input' "$out/wanted" "$out/got"
is 'a missing file' 'leat sum: nosuch: No such file or directory' "$(cat "$out/got.err")"

# A length applies only to the digest that has several.
"$leat" sum -a md5,blake2b,sha1 -l 128 names/plain >"$out/got"
b2sum -l 128 --tag names/plain >"$out/wanted"
same '-l' "$out/wanted" <(sed -n 2p "$out/got")
is '-l: the others' 'MD5 SHA1' "$(sed -n '1s/ .*//p; 3s/ .*//p' "$out/got" | xargs)"
"$leat" sum -c --quiet "$out/got" || fail '-l: check'

# JSON: one object for each file.
printf '{"path":"names/plain","sha1":"%s","md5":"%s"}\n' "$(sha1sum <names/plain | cut -c -40)" \
    "$(md5sum <names/plain | cut -c -32)" >"$out/wanted"
"$leat" sum --json -a sha1,md5 names/plain >"$out/got"
same '--json' "$out/wanted" "$out/got"

# Mixed lists: each digest is of the algorithm that its line names, in the order of the list.
# Without a tag it is md5, or the first that -a names, or the only one of those with its length.
{
    md5sum names/plain
    sha256sum --tag names/empty names/large
    sha1sum --tag names/plain | sed 's/.$/x/'
    sha512sum --tag names/plain | sed 's/= ..../= 0000/'
    b2sum --tag -l 256 names/plain
    sha256sum names/large
    md5sum names/large
    echo 'SHA512-256 (names/plain) = 00'
    echo 'SHA257 (names/plain) = 00'
    "$leat" sum --tag -a xxh64 names/large
} >mixed
printf 'names/%s\n' 'plain: OK' 'empty: OK' 'large: OK' 'plain: FAILED' 'plain: OK' 'large: OK' \
    'large: OK' >"$out/wanted"
"$leat" sum -c -w mixed >"$out/got" 2>"$out/got.err"
is 'mixed: status' 1 $?
same 'mixed' "$out/wanted" "$out/got"
for line in 4 7 9 10; do
    echo "leat sum: mixed: $line: improperly formatted checksum line"
done >"$out/wanted"
printf 'leat sum: WARNING: %s\n' '4 lines are improperly formatted' \
    '1 computed checksum did NOT match' >>"$out/wanted"
printf 'leat sum: mixed: digests of 64 digits may be of %s: choose with -a\n' \
    'sha256, sha512-256, sha3-256, blake2b or blake3' >>"$out/wanted"
same 'mixed: messages' "$out/wanted" "$out/got.err"
is 'plain lines are of the one as long' 5 \
    "$("$leat" sum -a sha256,md5 -c mixed 2>/dev/null | grep -c 'OK$')"
# Many files, so that both kinds are under way together.
for _ in {1..300}; do
    md5sum --tag names/large names/plain
    sha256sum --tag names/plain names/empty names/large
done >many
for jobs in 1 2 5; do
    is "many mixed lines, -j $jobs" 1500 "$("$leat" sum -j "$jobs" -c many | grep -c 'OK$')"
done

# refused MESSAGE ARGUMENT...
refused() {
    local message=$1
    shift
    "$leat" sum "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$*: status" 1 $?
    is "$*: message" "leat sum: $message" "$(head -n 1 "$out/got.err")"
    [ -s "$out/got" ] && fail "$*: output"
}
refused "'md5' is given twice in the argument of '--algorithm'" -a md5,sha1,md5 names/plain
refused "invalid argument 'md6' for '--algorithm': it takes $algorithms" -a md5,md6 names/plain
refused "invalid argument '' for '--algorithm': it takes $algorithms" -a md5,,sha1 names/plain
refused "invalid argument '' for '--algorithm': it takes $algorithms" -a md5, names/plain
refused "invalid argument ' sha1' for '--algorithm': it takes $algorithms" -a 'md5, sha1' \
    names/plain
refused '--tag does not support --text mode' -a md5,sha1 -t names/plain
refused '--length is only supported with --algorithm=blake2b' -a md5,sha1 -l 128 names/plain

finish
