#!/usr/bin/env bash
# A worker at a queue where the system cannot watch one more descriptor: it looks at its jobs' pipes
# now and then, and nothing is lost.
. "$(dirname "$0")/redis_common.bash"

"$LEAT_PROGRAMS/unwatched" 1 1 true || skip 'the system allows no filter'
# Its own descriptors come first, then those of four jobs.
"$LEAT_PROGRAMS/unwatched" 16 1000 "$leat" worker "$queue" -j4 2>"$out/worker" &
worker=$!
disown
workers_begun+=("$worker")
seq 300000 >numbers
map --on="$queue*4" --pipe=300K -s 'sleep 0.1; cat' <numbers >"$out/got" 2>"$out/err"
is 'status' 0 $?
same 'input and output' numbers "$out/got"
end_worker
finish
