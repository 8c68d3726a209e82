#!/usr/bin/env bash
# The last message, after all else, reaches a file, a pipe and a terminal.
. "$(dirname "$0")/sum_common.bash"

echo 1 >file
full='write error: No space left on device'
closed='-: Bad file descriptor
standard input: Bad file descriptor'

# words WANTED COMMAND: compares the output on all three
words() {
    sed 's/^/leat sum: /' <<<"$1" >"$out/wanted"
    bash -c "$2" 2>"$out/got"
    same "$2: in a file" "$out/wanted" "$out/got"
    { bash -c "$2" 2>&1 >&3 | cat >"$out/got"; } 3>&1
    same "$2: in a pipe" "$out/wanted" "$out/got"
    script -qec true /dev/null </dev/null >/dev/null 2>&1 || return
    script -qec "bash -c '$2'" /dev/null </dev/null | tr -d '\r' >"$out/got"
    same "$2: on a terminal" "$out/wanted" "$out/got"
}
words "$full" "$leat sum file >/dev/full"
words "$full" "$leat sum -a sha1 file >/dev/full"
words "$closed" "$leat sum <&-"
words "$closed" "$leat sum - file <&- >/dev/null"

finish
