#!/usr/bin/env bash
# A file system says only when the output is closed that it could not store it: leat sum and leat
# map fail.
. "$(dirname "$0")/command_common.bash"
[ -z "${LEAT_SANITIZE:-}" ] || skip 'sanitizers make system calls of their own'
strace -o "$out/strace" true 2>/dev/null || skip 'there is no strace, which refuses calls here'

echo 1 >file
# fails STATUS MESSAGE ARGUMENT...
fails() {
    : >stored
    strace -qq -o "$out/strace" -P stored -e trace=close -e inject=close:error=EDQUOT \
        "$leat" "${@:3}" >stored 2>"$out/all.err"
    is "${*:3}: status" "$1" $?
    is "${*:3}: message" "leat $2: Disk quota exceeded" "$(grep -v '^strace: ' "$out/all.err")"
}
fails 1 'sum: write error' sum file
fails 1 'sum: write error' sum -a sha1 --tag file
fails 2 'map: standard output' map -j1 echo ::: 1 2
fails 2 'map: write error' map --help
finish
