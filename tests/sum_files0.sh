#!/usr/bin/env bash
# --files0-from: names from a file, each ending in a NUL byte.
. "$(dirname "$0")/sum_common.bash"

mkdir folder folder/below
echo 1 >one
echo 2 >$'two\nlines'
echo 3 >folder/3
echo 4 >folder/below/4
printf '%s\0' one $'two\nlines' folder nosuch ./one >names
"$leat" sum one $'two\nlines' folder nosuch ./one >"$out/wanted" 2>"$out/wanted.err"
for jobs in 1 4; do
    "$leat" sum -j $jobs --files0-from=names >"$out/got" 2>"$out/got.err"
    is 'a file: status' 1 $?
    same 'a file' "$out/wanted" "$out/got"
    same 'a file: messages' "$out/wanted.err" "$out/got.err"
    "$leat" sum -j $jobs --files0-from - <names >"$out/got" 2>&1
    is 'standard input: status' 1 $?
    (sleep 0.1 && cat names) | "$leat" sum -j $jobs --files0-from - >"$out/got" 2>"$out/got.err"
    same 'a pipe' "$out/wanted" "$out/got"
    same 'a pipe: messages' "$out/wanted.err" "$out/got.err"
done

# The last name may lack its NUL; a file may have no names.
printf 'one\0folder/3' | "$leat" sum --files0-from=- >"$out/got"
is 'no end: status' 0 $?
"$leat" sum one folder/3 | same 'no end' - "$out/got"
"$leat" sum --files0-from=/dev/null >"$out/got" 2>&1
is 'empty: status' 0 $?
same 'empty' /dev/null "$out/got"

# Many names, and one as long as a path can be.
long=$(printf './%.0s' {1..2000})one
find_many() {
    for ((i = 0; i < 3000; i++)); do printf '%s\0' one "$long"; done
}
find_many | "$leat" sum --files0-from=- | cut -c -32 | sort | uniq -c | sed 's/^ *//' >"$out/got"
is 'many: status' 0 $?
is 'many' "6000 $(md5sum <one | cut -c -32)" "$(cat "$out/got")"

# broken WHAT MESSAGE NAMES: the message has its place, the others are digested, the status is 1
broken() {
    printf "$3" | "$leat" sum --files0-from=- >"$out/got" 2>&1
    is "$1: status" 1 $?
    {
        "$leat" sum one
        echo "leat sum: 'standard input': $2"
        "$leat" sum folder/3
    } >"$out/wanted"
    same "$1" "$out/wanted" "$out/got"
}
broken 'an empty name' 'contains an empty file name' 'one\0\0folder/3\0'
broken 'itself' "cannot name itself, '-', as a file" 'one\0-\0folder/3\0'
broken 'a name too long' 'contains a file name of more than 1 MiB' \
    "one\\0$(head -c 3000000 /dev/zero | tr '\0' x)\\0folder/3\\0"
# The bound does not depend on how the names come.
mebi=$(printf '%*s' $((1 << 20)) '' | tr ' ' x)
for by in 1 4096 1000000; do
    printf '%s\0%sx\0one\0' "$mebi" "$mebi" | dd obs=$by status=none |
        "$leat" sum --files0-from=- 2>&1 | cut -c -100 >"$out/got"
    is "a name of 1 MiB, by $by" 'too long: 1, left: 1' \
        "too long: $(grep -c 'more than 1 MiB' "$out/got"), left: $(grep -c 'one$' "$out/got")"
done
"$leat" sum --files0-from=nosuch >"$out/got" 2>&1
is 'no file: status' 1 $?
is 'no file' 'leat sum: nosuch: No such file or directory' "$(cat "$out/got")"
"$leat" sum --files0-from=folder >"$out/got" 2>&1
is 'a folder: status' 1 $?
is 'a folder' 'leat sum: folder: Is a directory' "$(cat "$out/got")"
"$leat" sum --files0-from=- <&- >"$out/got" 2>&1
is 'closed: status' 1 $?
is 'closed' "leat sum: 'standard input': Bad file descriptor" "$(head -n 1 "$out/got")"

# refused MESSAGE ARGUMENT...
refused() {
    local message=$1
    shift
    "$leat" sum "$@" >"$out/got" 2>"$out/got.err"
    is "$*: status" 1 $?
    is "$*" "leat sum: $message" "$(head -n 1 "$out/got.err")"
}
refused 'paths cannot be combined with --files0-from' --files0-from=names one
refused 'the --files0-from option is not supported when verifying checksums' -c --files0-from=names

# A halt ends the wait for names.
mkfifo fifo
exec 3<>fifo
timeout -k 20 --preserve-status -s INT 0.1 "$leat" sum --files0-from=fifo >"$out/got" 2>&1
is 'interrupted: status' 130 $?

finish
