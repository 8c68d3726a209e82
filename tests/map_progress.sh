#!/usr/bin/env bash
# leat map: progress on a terminal, and nowhere else.
. "$(dirname "$0")/map_common.bash"
script -qec true /dev/null </dev/null >/dev/null 2>&1 ||
    skip 'no terminal can be had, or script, which makes one, is missing'

# terminal COMMAND: runs it on a terminal; what the terminal got is in $out/terminal
terminal() {
    timeout -k 5 120 script -qefc "$1" /dev/null </dev/null >"$out/terminal"
}
shows() {
    tr '\r' '\n' <"$out/terminal" | grep -qE "$2" || fail "$1: $(tr '\r' '|' <"$out/terminal")"
}
# The jobs wait until the terminal has such a line: sees PATTERN
export terminal=$out/terminal
cat >sees <<'SEES'
until tr '\r' '\n' <"$terminal" | grep -q "$1"; do sleep 0.05; done
SEES
cat >lists <<'LISTS'
[ "$1" -lt 3 ] || sh sees '^2 of 4 jobs done, 2 running'
exit $(($1 == 1))
LISTS
cat >one <<'ONE'
if [ "$1" = 6 ]; then
    sh sees '^1 .*jobs done, 1 running'
    : >seen
fi
echo "$1"
ONE

terminal "$leat map -j2 sh lists ::: 1 2 3 4 >'$out/got'"
shows 'lists' '^2 of 4 jobs done, 2 running, 1 failed, [0-9.]+/s, [0-9]+:[0-9]{2} left'
seq 5 7 >numbers
terminal "$leat map -j1 -a numbers sh one >'$out/got'"
shows 'a file' '^1 of 3 jobs done, 1 running, 0 failed'
# At the end the line is erased: a return, spaces over all of it, a return.
tail -c 90 "$out/terminal" | grep -q $'\r  *\r$' || fail 'the progress was left standing'
terminal "cat numbers | $leat map -j1 sh one >'$out/got'"
shows 'a pipe that has ended' '^1 of 3 jobs done, 1 running, 0 failed'
rm seen
terminal "{ cat numbers; until [ -e seen ]; do sleep 0.02; done; } | $leat map -j1 sh one"
shows 'a pipe' '^1 jobs done, 1 running, 0 failed'
tr '\r' '\n' <"$out/terminal" | grep -Ev 'jobs done|^ *$' >"$out/got"
same 'output and progress on one terminal' numbers "$out/got"
# A line comes after half a second.
terminal "$leat map --no-progress -j1 -s 'sleep 1' ::: 1 >'$out/got'"
is '--no-progress' '' "$(cat "$out/terminal")"
map -j1 -s 'sleep 1' ::: 1 2>"$out/err"
is 'no terminal' '' "$(cat "$out/err")"

# Jobs run while it counts the items of a large file: here the second one, which is too long, ends
# the run.
echo 1 >large
if truncate -s 4T large 2>"$out/err"; then
    terminal "$leat map -a large -s ': >began' 2>/dev/tty; echo \"status \$?\""
    shows 'a large file' '^status 2$'
    [ -e began ] || fail 'a large file: no job has begun'
    rm large
else
    echo 'skipped: no file can be that large here'
fi

# Two of three jobs are left after the first: for twice the time that the run has taken, at most,
# without the time for which it was stopped.
cat >stops <<'STOPS'
[ "$1" = 2 ] || exit 0
setsid sh -c 'kill -TSTP $1
    until ! [ -e /proc/$1 ] || grep -qs "^State:.T" /proc/$1/status; do sleep 0.02; done
    date +%s%N >stopped; sleep 4; date +%s%N >continued
    kill -CONT $1' sh $PPID &
until [ -e continued ]; do sleep 0.02; done
sh sees '^1 of 3 jobs done.*left'
date +%s%N >seen
STOPS
begun=$(date +%s%N)
terminal "$leat map -j1 sh stops ::: 1 2 3 >'$out/got'; true"
shows 'a stop' '^1 of 3 jobs done, 1 running, 0 failed, [0-9.]+/s, [0-9:]+ left'
at_most=$((2 * ($(cat seen) - begun - ($(cat continued) - $(cat stopped))) / 1000000000 + 3))
left=$(tr '\r' '\n' <"$out/terminal" | sed -n 's/^1 of 3 .*, \([0-9:]*\) left.*/0:\1/p' | tail -n 1)
left=$(awk -F : '{ print 60 * (60 * $(NF - 2) + $(NF - 1)) + $NF }' <<<"$left")
[ "$left" -le $at_most ] || fail "a stop counts for the time left: $left s, not $at_most"

# A job that reads the terminal is stopped, and the terminal's input is not its own; the time limit
# ends it. Its standard input is not the terminal.
for limit in 1 5 25; do # a slow machine may not let the job come that far in a second
    terminal "$leat map -j1 --timeout=$limit --no-progress \
        -s 'echo \$\$ >reader; read x </dev/tty; echo \$x' ::: 1; echo \"status \$?\""
    [ ! -s reader ] || break
done
shows 'reads the terminal: status' '^status 1$'
shows 'reads the terminal: message' '^leat map: 1 of 1 jobs failed$'
wait_for are_gone "$(cat reader)"
# It waits, and does not fail: job 2 sees job 1 stopped, and lets it go.
terminal "$leat map -j2 --no-progress -s 'if [ \$1 = 1 ]; then
        echo \$\$ >reader; read x </dev/tty; echo read \$?
    else
        until grep -qs \"^State:.T\" /proc/\$(cat reader)/status; do sleep 0.02; done
        echo stopped; kill -KILL \$(cat reader)
    fi' ::: 1 2"
shows 'reads the terminal: is stopped' '^stopped$'
is 'input that is not the terminal' '' "$(terminal "$leat map --no-progress cat ::: /dev/stdin" &&
    cat "$out/terminal")"

finish
