#!/usr/bin/env bash
# A worker on a stream has no more watches than for its own descriptors: a pipe takes a part of a
# job's input, and the rest later.
. "$(dirname "$0")/on_common.bash"
"$LEAT_PROGRAMS/unwatched" 1 1 true || skip 'the number of watches cannot be bounded'

# Stands for ssh.
cat >"$work/unwatching" <<'RSH'
#!/bin/sh
shift 2
exec "$LEAT_PROGRAMS/unwatched" 9 1000 "$LEAT_BIN" "$@"
RSH
chmod +x "$work/unwatching"
seq 300000 >numbers
LEAT_SSH=$work/unwatching map --on='a*4' --pipe=300K -s 'sleep 0.1; cat' <numbers >"$out/got"
is 'status' 0 $?
same 'input and output' numbers "$out/got"
finish
