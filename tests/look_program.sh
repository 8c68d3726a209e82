#!/usr/bin/env bash
# leat look at a program: each list, and all that it prints.
. "$(dirname "$0")/look_common.bash"
mkfifo "$out/input"
trap 'exec 9>&-; chmod -R u+rwx "$work"; rm -rf "$work"' EXIT

# start SETTING...: the program of tests/programs/looked.c, until descriptor 9 is closed.
start() {
    env LEAT_LOOK="$at" "$@" "$LEAT_PROGRAMS/looked" <"$out/input" 2>"$out/said" &
    program=$!
    exec 9>"$out/input"
    wait_for test -S "$work/sock"
}
stop() {
    exec 9>&-
    wait "$program" || fail "the program ends with $?: $(cat "$out/said")"
}
# shows LIST PATTERN: waits until the list has such a line.
lists() {
    look --once --list="$1" >"$out/got" 2>"$out/err" && grep -qE -- "$2" "$out/got"
}
shows() {
    [ $failures -gt 0 ] || wait_for lists "$1" "$2" || cat "$out/got" "$out/err"
}

start LEAT_WATCH=waits
shows parties "^looked $program, up [0-9.]+s, [0-9]+ members, leat "
shows parties '^worker 1 +\[\|* *\] +[0-9]+% +ready '
shows parties '^t[0-9]+ +task +waiting .* naps \(looked.c:[0-9]+\) +sleep$'
shows parties '^h[0-9a-f]+ +thread '
shows channels '^c[0-9]+ +full +8 +8 +0 +1 .* s[0-9]+ +full$'
shows channels '^c[0-9]+ +closed +0 +2 .* shut \?\[31m$'
shows scopes '^    s[0-9]+ +67 +joins .* t[0-9]+ inner \(looked.c:[0-9]+\)$'
shows waits '^[0-9.]+m?s .* idles \(looked.c:[0-9]+\) +receive c[0-9]+ never '
doubles='doubles +c[0-9]+ words +c[0-9]+ doubles'
shows stages "^p[0-9a-f]+ +pipeline +open +[0-2] +2 +[0-3] +3 .* $doubles\$"
states='(waiting|ready|running|started|queued)'
shows stages "^p[0-9a-f]+ +merge +$states +- +- +- +- .* c[0-9]+ doubles "
shows descriptors '^d[0-9]+ +open +1 +0 +s[0-9]+$'
shows batchers '^g[0-9a-f]+ +open +[01] +[01] +[1-9][0-9]* +[1-9][0-9]* .* log$'
shows counts '^switches +[1-9][0-9.kM]+ +- '
shows stacks '^stacks: 0, by parties, not known: start the program with LEAT_WATCH=stacks$'

look --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["program"] == "looked" and len(d["stages"]) == 3, d["stages"]' || fail '--json'
look --dump >"$out/dump" || fail '--dump: status'
grep -qE '^ +pipeline stage doubles: from channel [0-9]+ to channel [0-9]+, [0-2] of 2 run, ' \
    "$out/dump" || fail '--dump'
look --graph >"$out/graph" || fail '--graph: status'
is '--graph' 'digraph leat {' "$(head -n 1 "$out/graph")"
look --trace=0.3 | python3 -c 'import json, sys
trace = json.load(sys.stdin)
assert [event for event in trace["traceEvents"] if event.get("ph") == "X"]' || fail '--trace'
stop

# A look takes some call stacks of each worker. A sanitizer's own frames may stand in the way.
if [ -z "${LEAT_SANITIZE-}" ]; then
    start LEAT_WATCH=stacks
    shows stacks '^ +[1-6][0-9] +t[0-9]+ +idles \(looked.c:[0-9]+\) +waiting +looked\+0x'
    stop
fi

finish
