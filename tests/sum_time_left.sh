#!/usr/bin/env bash
# The time left: shown if the amount of work is known, and only then.
. "$(dirname "$0")/sum_common.bash"
script -qec true /dev/null </dev/null >/dev/null 2>&1 ||
    skip 'no terminal can be had, or script, which makes one, is missing'

# The run takes a second or two, and reads nothing from the disk.
mkdir tree
truncate -s 1G tree/0sparse

# drawn ARGUMENT...: prints what a terminal shows, a line for each time it is drawn
drawn() {
    SECONDS=0
    script -qefc "$leat sum -a sha3-256 $* >'$out/got' 2>/dev/tty" /dev/null </dev/null \
        >"$out/terminal"
    took=$SECONDS
    tr '\r' '\n' <"$out/terminal" | grep files >"$out/drawn"
    [ -s "$out/drawn" ] || fail "$*: no progress"
}
# the seconds left, of each line that shows them
left() {
    sed -n 's/.*, \([0-9]*\):\([0-9]*\) left\(: .*\)\{0,1\} *$/\1 \2/p' "$out/drawn" |
        while read -r minutes seconds; do
        echo $((60 * minutes + 10#$seconds))
    done
}
# shows_left WHAT ARGUMENT...: the time left is shown, gets shorter, and is in the end at most that
# of the run. A machine that is busy for a while makes it grow: so this tries a few times.
shows_left() {
    local wrong
    for _ in {1..6}; do
        drawn "${@:2}"
        left >"$out/left"
        wrong=
        [ "$(wc -l <"$out/left")" -gt 1 ] || wrong="is not shown: $(head -n 3 "$out/drawn")"
        [ -n "$wrong" ] || [ "$(head -n 1 "$out/left")" -ge "$(tail -n 1 "$out/left")" ] ||
            wrong=grows
        [ -n "$wrong" ] || [ "$(tail -n 1 "$out/left")" -le $((took + 2)) ] ||
            wrong='is long at the end'
        [ -n "$wrong" ] || return
    done
    fail "$1: the time left $wrong"
}
shows_no_left() {
    is "$1: the time left is shown" '' "$(left)"
}

shows_left 'a file' tree/0sparse
grep -qE '^0 files, .* MB of 1\.07 GB, [0-9]{1,2}%, .*B/s, .* left: tree/0sparse' "$out/drawn" ||
    fail "the total, the part and the name are not shown: $(head -n 3 "$out/drawn")"
# Each of the others takes as long, and waits most of it: sum_progress looks at the lines that are
# drawn in each build.
if [ -z "${LEAT_LONG-}" ]; then
    finish
fi
for i in {1..7000}; do
    : >"tree/$i"
done
shows_left 'several files' tree/0sparse tree/1 tree/2 nosuch
"$leat" sum -a sha3-256 tree/0sparse >../one
shows_left 'a list' -c ../one
shows_left 'a walk that is over soon' tree

# The number of files is known before all are under way: here there are more than ever can be.
: >t
drawn tree/0sparse "$(printf ' t%.0s' {1..33000})"
is 'many files' 33001 "$(wc -l <"$out/got")"
left >"$out/left"
[ -s "$out/left" ] || fail 'many files: the time left is not shown'
awk '{ print } END { for (i = 0; i < 33000; i++) print $1 "  t" }' ../one >../long
drawn -c ../long
left >"$out/left"
[ -s "$out/left" ] || fail 'a long list: the time left is not shown'

# The amount of work is not known.
for i in {7001..33000}; do
    : >"tree/$i"
done
drawn tree
head -n 3 "$out/drawn" >"$out/first"
grep -q left "$out/first" && fail 'the time left is shown during the walk'
drawn -c - '<../long'
head -n 3 "$out/drawn" >"$out/first"
grep -q left "$out/first" && fail 'the time left is shown for a list of unknown length'
mkfifo fifo
: >"$out/terminal"
(
    exec 3>fifo
    for _ in {1..600}; do
        ! grep -q files "$out/terminal" || break
        sleep 0.1
    done
    sleep 0.3 # for more lines
) &
drawn tree/1 fifo
shows_no_left 'a FIFO'
wait
(exec 3>fifo && sleep 1.2) &
drawn --no-progress fifo 2>/dev/null | grep -q 'no progress' ||
    fail 'progress in spite of --no-progress'
wait

finish
