#!/usr/bin/env bash
# Every digest: published values, its tag, and its lists check.
. "$(dirname "$0")/sum_common.bash"

: >empty
printf abc >abc
head -c 1000000 /dev/zero | tr '\0' a >million

# digest TAG EMPTY ABC MILLION: what the three files have
digest() {
    local name=$1 tag=$2
    printf '%s  empty\n%s  abc\n%s  million\n' "$3" "$4" "$5" >list
    printf '%s (empty) = %s\n' "$tag" "$3" >tagged
    printf '%s (%s) = %s\n' "$tag" empty "$3" "$tag" abc "$4" "$tag" million "$5" >all
    [ "$name" = xxh3 ] || cp list all
    "$leat" sum -a "$name" empty abc million >"$out/got"
    is "$name: status" 0 $?
    same "$name" all "$out/got"
    "$leat" sum "--algorithm=$name" --tag empty >"$out/got"
    same "$name: tag" tagged "$out/got"
    cat list tagged | "$leat" sum -a "$name" -c >"$out/got"
    is "$name: check" 0 $?
    is "$name: lines checked" 4 "$(grep -c ': OK$' "$out/got")"
    sed -i 's/^./x/' list
    "$leat" sum -a "$name" -c list >"$out/got" 2>&1
    is "$name: a list of something else" 1 $?
}

digest md5 MD5 \
    d41d8cd98f00b204e9800998ecf8427e \
    900150983cd24fb0d6963f7d28e17f72 \
    7707d6ae4e027c70eea2a935c2296f21
digest sha1 SHA1 \
    da39a3ee5e6b4b0d3255bfef95601890afd80709 \
    a9993e364706816aba3e25717850c26c9cd0d89d \
    34aa973cd4c4daa4f61eeb2bdbad27316534016f
digest sha224 SHA224 \
    d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f \
    23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7 \
    20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67
digest sha256 SHA256 \
    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 \
    ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad \
    cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0
digest sha384 SHA384 \
    38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b \
    cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7 \
    9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b07b8b3dc38ecc4ebae97ddd87f3d8985
digest sha512 SHA512 \
    cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e \
    ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f \
    e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b
digest sha512-256 SHA512-256 \
    c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a \
    53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23 \
    9a59a052930187a97038cae692f30708aa6491923ef5194394dc68d56c74fb21
digest sha3-256 SHA3-256 \
    a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a \
    3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532 \
    5c8875ae474a3634ba4fd55ec85bffd661f32aca75c6d699d0cdcb6c115891c1
digest blake2b BLAKE2b \
    786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce \
    ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923 \
    98fb3efb7206fd19ebf69b6f312cf7b64e3b94dbe1a17107913975a793f177e1d077609d7fba363cbba00d05f7aa4e4fa8715d6428104c0a75643b0ff3fd3eaf
digest blake3 BLAKE3 \
    af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262 \
    6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85 \
    616f575a1b58d4c9797d4217b9730ae5e6eb319d76edef6549b46f4efe31ff8b
digest xxh64 XXH64 \
    ef46db3751d8e999 \
    44bc2cf5ad770999 \
    dc483aaa9b4fdc40
digest xxh3 XXH3 \
    2d06800538d394c2 \
    78af5f94892f3950 \
    b1fd6fae5285c4eb
digest crc32c CRC32C \
    00000000 \
    364b3fb7 \
    436fe240
digest xxh128 XXH128 \
    99aa06d3014798d86001c324468d497f \
    06b05ab6733a618578af5f94892f3950 \
    a545df8e384a9579b1fd6fae5285c4eb

# 16 digits without a tag were of xxh64 before there was xxh3, and still are.
"$leat" sum -a xxh64 abc million >list
"$leat" sum -c --quiet list || fail 'xxh64 without a tag'
"$leat" sum -a xxh3 million >list
"$leat" sum -c --quiet list || fail 'xxh3 with its tag'
is 'JSON' '{"path":"abc","xxh3":"78af5f94892f3950","crc32c":"364b3fb7"}' \
    "$("$leat" sum --json -a xxh3,crc32c abc)"

# Other programs, where they are.
seq 100000 >numbers
if xxhsum -H3 numbers >list 2>/dev/null && grep -q '^XXH3 (' list; then
    "$leat" sum -a xxh3 numbers >"$out/got"
    same xxhsum list "$out/got"
    xxhsum -c "$out/got" >/dev/null 2>&1 || fail 'xxhsum does not read the list'
fi
if rhash --crc32c empty >/dev/null 2>&1; then
    "$leat" sum -a crc32c numbers >"$out/got"
    rhash -p '%{crc32c}  %p\n' numbers | same rhash - "$out/got"
fi

# More than 4 GiB, which finds lengths counted in 32 bits: a hole, which takes no room on the disk.
# md5sum prints the same, and takes as long.
if [ -n "${LEAT_LONG-}" ]; then
    truncate -s 4295098369 huge
    is 'a huge file' 'fcdd2b265dbee921f88000420b610faa  huge' "$("$leat" sum huge)"
fi

# If libxxhash has functions for newer processors, the command uses them.
library=$(ldd "$leat" | sed -n 's/.*libxxhash.* => \([^ ]*\).*/\1/p')
update=XXH3_128bits_update_dispatch
if [ -e /usr/include/xxh_x86dispatch.h ] && nm -D "$library" 2>/dev/null |
    grep -q " T $update$"; then
    nm -D "$leat" | grep -q " U $update$" || fail "libxxhash's $update is not used"
fi

finish
