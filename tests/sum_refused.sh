#!/usr/bin/env bash
# The system refuses a call: all that works without the call continues, and a message names the
# error.
. "$(dirname "$0")/sum_common.bash"
[ -z "${LEAT_SANITIZE:-}" ] || skip 'sanitizers make system calls of their own'
strace -o "$out/strace" true 2>/dev/null || skip 'there is no strace, which refuses calls here'

mkdir folder
echo 1 >folder/1
echo 2 >folder/2
echo 3 >file
md5sum folder/1 folder/2 file >"$out/all"

# refused CALL ERROR[:WHEN] ARGUMENT...: the output is in $out/got, the messages in $out/got.err;
# returns the status
refused() {
    local call=$1 error=$2
    shift 2
    strace -f -qq -o "$out/strace" -e "trace=$call" -e "inject=$call:error=$error" \
        "$leat" sum "$@" >"$out/got" 2>"$out/got.err"
    status=$?
}

# The question what is in the system's cache. A sandbox may return any error.
for error in EPERM ENOSYS EACCES EINVAL; do
    for arguments in '-j 1' '-j 4' '-a sha512' '--readers=1'; do
        # shellcheck disable=SC2086
        refused preadv2 $error $arguments folder file
        is "preadv2, $error, $arguments: status" 0 "$status"
        same "preadv2, $error, $arguments: messages" /dev/null "$out/got.err"
        case $arguments in -a*) sha512sum folder/1 folder/2 file ;; *) cat "$out/all" ;; esac \
            >"$out/wanted"
        same "preadv2, $error, $arguments" "$out/wanted" "$out/got"
    done
done

# Listing a folder, also /proc/self/fd.
refused getdents64 EPERM folder file
is 'getdents64: status' 1 "$status"
is 'getdents64: messages' 'leat sum: folder: Operation not permitted' "$(cat "$out/got.err")"
tail -n 1 "$out/all" | same 'getdents64' - "$out/got"

# refused_of PATH WHEN ARGUMENT...: the system does not say what the path is, the WHENth time that
# it is asked.
refused_of() {
    strace -f -qq -o "$out/strace" -P "$1" -e 'trace=?stat,?fstat,newfstatat' \
        -e "inject=?stat,?fstat,newfstatat:error=EIO:when=$2" "$leat" sum "${@:3}" \
        >"$out/got" 2>"$out/all.err"
    status=$?
    grep -v '^strace: ' "$out/all.err" >"$out/got.err"
}
mkdir -p tree/part
echo 1 >tree/part/1
echo 2 >tree/2
"$leat" sum tree >list
refused_of tree/part/ 1+ -L --tree tree
is 'stat, --tree: status' 1 "$status"
same 'stat, --tree' /dev/null "$out/got"
is 'stat, --tree: messages' 'leat sum: tree/part: Input/output error
leat sum: tree/: has no digest, since not all of it could be read' "$(cat "$out/got.err")"
# The first time is for a listed file, the second one for the walk.
for first in 1 2; do
    refused_of tree/part/ "$first" -c list --quiet --strict-tree=tree
    is "stat $first, --strict-tree: status" 1 "$status"
    same "stat $first, --strict-tree" /dev/null "$out/got"
    grep -q ': Input/output error$' "$out/got.err" || fail "stat $first: $(cat "$out/got.err")"
    cp list updated
    refused_of tree/part/ "$first" --update=updated tree
    is "stat $first, --update: status" 1 "$status"
    same "stat $first, --update" list updated
done

# Asking what an updated list is. Which thread asks for the WHENth time may differ.
ln -s list link
cp -p list before
for when in {1..9}; do
    sed 1d before >list
    chmod 644 list
    refused_of link "$when" --update=link tree
    [ -L link ] || fail "a link to a list, $when: it has been replaced"
    is "a link to a list, $when: mode" 644 "$(stat -c %a list)"
    [ "$status" -ne 0 ] || same "a link to a list, $when" before list
done

# Starting a thread: the first refusal is for a thread of the command, of the runtime, or of a task.
for call in clone3 clone; do
    strace -f -qq -o "$out/strace" -e "trace=$call" "$leat" sum file >"$out/got"
    grep -q "$call(.*CLONE_THREAD" "$out/strace" && break
done
for first in {1..9}; do
    refused "$call" "EAGAIN:when=$first+" -j 2 folder file
    [ "$status" -ne 0 ] || break
    is "$call $first: status" 1 "$status"
    is "$call $first: message" \
        'leat sum: cannot start a thread: Resource temporarily unavailable' "$(cat "$out/got.err")"
done
[ "$first" -gt 2 ] || fail "$call: only $first were refused"
is "$call $first: goes on with fewer" 0 "$status"

finish
