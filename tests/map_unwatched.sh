#!/usr/bin/env bash
# leat map where the system cannot watch one more descriptor: it looks now and then, and nothing is
# lost.
. "$(dirname "$0")/map_common.bash"

unwatched=$LEAT_PROGRAMS/unwatched
"$unwatched" 1 1 true || skip 'the system allows no filter'
# unwatched FROM TO ARGUMENT...: leat map without these descriptors
unwatched() {
    timeout -k 5 --foreground 120 "$unwatched" "$1" "$2" "$leat" map "${@:3}"
}

# The input of jobs: a pipe takes a part of a block, and the rest later. A job on a task, too.
seq 300000 >numbers
for options in -j2 -j100; do
    unwatched 6 1000 $options --pipe=500K -s 'sleep 0.1; cat' <numbers >"$out/got" 2>"$out/err"
    is "input, $options: status" 0 $?
    same "input, $options" numbers "$out/got"
done

# The output, which waits for a reader.
unwatched 1 1 -j2 cat ::: numbers numbers 2>"$out/err" | { sleep 0.5; cat; } >"$out/got"
is 'output: status' 0 "${PIPESTATUS[0]}"
cat numbers numbers | same 'output' - "$out/got"

finish
