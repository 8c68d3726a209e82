# sum_common.bash: functions that the tests of `leat sum` share; sourced, not run.
#
# The oracle is coreutils 9.1: the output, the status, and the messages except for the program's
# name must be the same.

. "$(dirname "${BASH_SOURCE[0]}")/command_common.bash"

need_oracle() {
    case $(md5sum --version 2>/dev/null | head -n 1) in
    *' 9.1') ;;
    *) skip 'md5sum is not that of coreutils 9.1' ;;
    esac
}

# The arguments of --algorithm, as messages list them.
algorithms='md5, sha1, sha224, sha256, sha384, sha512, sha512-256, sha3-224, sha3-256, sha3-384, '
algorithms+='sha3-512, blake2b, blake3, xxh64, xxh3, xxh128 or crc32c'

# Compares both programs with the same arguments: each stream, both as one, and the status. $oracle
# is coreutils' program, $algorithm leat's name for its digest, $input the standard input. Both as
# one say nothing new of memory or threads: a sanitized or harsh build does without.
oracle=md5sum algorithm=md5 input=/dev/null
compare() {
    local wanted got
    "$oracle" "$@" <"$input" >"$out/wanted" 2>"$out/wanted.err"
    wanted=$?
    "$leat" sum -a "$algorithm" "$@" <"$input" >"$out/got" 2>"$out/got.err"
    got=$?
    : >"$out/wanted.all" >"$out/got.all"
    if [ -z "${SLOW_BUILD-}" ]; then
        "$oracle" "$@" <"$input" >"$out/wanted.all" 2>&1
        "$leat" sum -a "$algorithm" "$@" <"$input" >"$out/got.all" 2>&1
    fi
    # The oracle has no -a, and so no such hint.
    sed -i "/: choose with -a$/d; s/leat sum: /$oracle: /; s/^Try 'leat sum /Try '$oracle /" \
        "$out"/got.err "$out"/got.all
    is "$oracle $*: status" "$wanted" "$got"
    same "$oracle $*: output" "$out/wanted" "$out/got"
    same "$oracle $*: messages" "$out/wanted.err" "$out/got.err"
    same "$oracle $*: both together" "$out/wanted.all" "$out/got.all"
}

# said TEXT MESSAGE...: what the call $what has printed, in $out/got and $out/got.err
said() {
    printf '%s' "$1" >"$out/wanted"
    same "$what: output" "$out/wanted" "$out/got"
    shift
    for message; do
        echo "leat sum: $message"
    done >"$out/wanted.err"
    same "$what: messages" "$out/wanted.err" "$out/got.err"
}

# settle FILE...: waits until its times are well in the past; a ctime cannot be set.
settle() {
    local last
    last=$(stat -c '%Z' "$@" | sort -n | tail -n 1)
    until [ "$(date +%s)" -gt $((last + 3)) ]; do
        sleep 0.1
    done
}
