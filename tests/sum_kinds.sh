#!/usr/bin/env bash
# Check lists of any kind: of openssl, and those in which only the length identifies the digest.
. "$(dirname "$0")/sum_common.bash"

echo 1 >one
echo 2 >'two)= 2'
files=(one 'two)= 2')
printf '%s: OK\n' "${files[@]}" >"$out/ok"

# hint LIST DIGITS NAMES
hint() {
    echo "leat sum: $1: digests of $2 digits may be of $3: choose with -a"
}

# The names of openssl 3, and those of earlier versions.
tags=(md5:MD5 sha1:SHA1 sha224:SHA2-224 sha224:SHA224 sha256:SHA2-256 sha256:SHA256
    sha384:SHA2-384 sha384:SHA384 sha512:SHA2-512 sha512:SHA512
    sha512-256:SHA2-512/256 sha3-256:SHA3-256 sha3-512:SHA3-512 blake2b:BLAKE2B-512)
: >all
for pair in "${tags[@]}"; do
    for file in "${files[@]}"; do
        echo "${pair#*:}($file)= $("$leat" sum -a "${pair%:*}" <"$file" | cut -d ' ' -f 1)"
    done >list
    cat list >>all
    for arguments in '' "-a ${pair%:*}"; do
        # shellcheck disable=SC2086
        "$leat" sum -c -w $arguments list >"$out/got" 2>&1
        is "$pair, $arguments: status" 0 $?
        same "$pair, $arguments" "$out/ok" "$out/got"
    done
done
is 'all tags' "$((2 * ${#tags[@]}))" "$("$leat" sum -c all | grep -c 'OK$')"
if openssl version 2>/dev/null | grep -q '^OpenSSL 3'; then
    for digest in md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-256 blake2b512; do
        openssl dgst "-$digest" one
    done >list
    is 'openssl: all' 9 "$("$leat" sum -c list | grep -c 'OK$')"
fi
echo "SHA2-512/224(one)= $(printf '%056d' 0)" >list
"$leat" sum -c list >"$out/got" 2>&1
is 'a tag of none' 'leat sum: list: no properly formatted checksum lines found' "$(cat "$out/got")"

# coreutils' programs do not know these tags, nor digests of another length.
ln -s "$leat" ../sha256sum
echo "SHA2-256(one)= $(sha256sum <one | cut -c -64)" >list
sha1sum one >>list
../sha256sum -c list >"$out/got" 2>&1
is 'by another name: status' 1 $?
is 'by another name' '../sha256sum: list: no properly formatted checksum lines found' \
    "$(cat "$out/got")"

# Without a tag: lengths that leave no doubt.
for digest in md5 sha1 sha224 sha384 xxh64; do
    "$leat" sum -a $digest "${files[@]}" >list
    "$leat" sum -c list >"$out/got" 2>&1
    is "$digest, unnamed: status" 0 $?
    same "$digest, unnamed" "$out/ok" "$out/got"
done
"$leat" sum -a sha256 "${files[@]}" >list
"$leat" sum -a md5,sha256 -c list >"$out/got" 2>&1
same 'one of two' "$out/ok" "$out/got"

# Lengths that several have: the lines count as bad, and there is a message.
for case in '64 sha256,sha512-256,sha3-256,blake3' '128 sha512,blake2b'; do
    digits=${case% *} all=${case#* }
    names="sha256, sha512-256, sha3-256, blake2b or blake3"
    [ "$digits" -eq 64 ] || names="sha512, sha3-512 or blake2b"
    for digest in ${all//,/ }; do
        "$leat" sum -a "$digest" "${files[@]}" >list
        "$leat" sum -c list >"$out/got" 2>&1
        is "$digest, unnamed: status" 1 $?
        {
            echo 'leat sum: list: no properly formatted checksum lines found'
            hint list "$digits" "$names"
        } >"$out/wanted"
        same "$digest, unnamed" "$out/wanted" "$out/got"
        "$leat" sum -a "$digest" -c list >"$out/got" 2>&1
        same "$digest, named" "$out/ok" "$out/got"
    done
done
sha256sum one >list
md5sum one >>list
"$leat" sum -a md5 -c list >"$out/got" 2>&1
is 'one line of another kind: status' 0 $?
{
    echo 'one: OK'
    echo 'leat sum: WARNING: 1 line is improperly formatted'
    hint list 64 'sha256, sha512-256, sha3-256, blake2b or blake3'
} >"$out/wanted"
same 'one line of another kind' "$out/wanted" "$out/got"

# A digest taken for another of the same length, by default or because blake2b has any length: a
# mismatch and a message.
# mistaken ARGUMENTS DIGEST DIGITS NAMES
mistaken() {
    "$leat" sum -a "$2" one >list
    # shellcheck disable=SC2086
    "$leat" sum $1 -c list >"$out/got" 2>&1
    is "$1, $2: status" 1 $?
    {
        echo 'one: FAILED'
        echo 'leat sum: WARNING: 1 computed checksum did NOT match'
        hint list "$3" "$4"
    } >"$out/wanted"
    same "$1, $2" "$out/wanted" "$out/got"
}
mistaken '' xxh128 32 'md5, blake2b or xxh128'
mistaken '-a blake2b' md5 32 'md5, blake2b or xxh128'
mistaken '-a blake2b' sha256 64 'sha256, sha512-256, sha3-256, blake2b or blake3'
b2sum -l 160 one >list
"$leat" sum -c list 2>&1 | tail -n 1 >"$out/got"
hint list 40 'sha1 or blake2b' | same 'a short blake2b' - "$out/got"

# No message if the digest is certain, if some lines match, and if nothing is to be printed.
quiet() {
    "$leat" sum "$@" >"$out/got" 2>&1
    is "$*: status" 1 $?
    ! grep 'choose with' "$out/got" || fail "$*: a hint"
}
echo "$(md5sum <two* | cut -c -32)  one" >list
quiet -a md5 -c list
b2sum -l 128 'two)= 2' | sed 's/  .*/  one/' >list
quiet -a blake2b -l 128 -c list
{ echo "$(md5sum <two* | cut -c -32)  one" && md5sum one; } >list
quiet -c list
echo "012345  one" >list
quiet -c list
sha256sum one >list
quiet --status -c list

finish
