#!/usr/bin/env bash
# Progress: on a terminal, and nowhere else.
. "$(dirname "$0")/sum_common.bash"
script -qec true /dev/null </dev/null >/dev/null 2>&1 ||
    skip 'no terminal can be had, or script, which makes one, is missing'

mkfifo slow
echo 1 >file
# terminal COMMAND [PATTERN]: runs it on a terminal, with a FIFO that ends when the terminal has the
# pattern; without one, after the time in which a line would come
terminal() {
    : >"$out/terminal"
    (
        exec 3>slow
        [ $# -gt 1 ] || sleep 1.2
        for ((i = 0; $# > 1 && i < 600; i++)); do
            ! grep -q -- "$2" "$out/terminal" || break
            sleep 0.1
        done
    ) &
    script -qefc "$1" /dev/null </dev/null >"$out/terminal"
    wait
}
shown='[0-9] files, .*B, .*B/s'
is_shown() {
    grep -q "$shown" "$out/terminal"
}

begun=$(date +%s%N)
terminal "$leat sum file slow >'$out/got'" '/s: slow'
tenths=$((($(date +%s%N) - begun) / 100000000))
is_shown || fail 'no progress'
md5sum file >"$out/wanted"
printf 'd41d8cd98f00b204e9800998ecf8427e  slow\n' >>"$out/wanted"
same 'the output has digests only' "$out/wanted" "$out/got"
grep -q '/s: slow' "$out/terminal" || fail 'the file in hand is not shown'
# At the end the line is erased: a return, spaces over all of it, a return.
tail -c 30 "$out/terminal" | grep -q $'\r  *\r$' || fail 'the progress was left standing'
times=$(tr '\r' '\n' <"$out/terminal" | grep -c files)
[ "$times" -le "$tenths" ] || fail "the progress was drawn $times times in $tenths * 0.1 s"

terminal "$leat sum file slow" "$shown"
tr '\r' '\n' <"$out/terminal" | grep -Ev 'files,|^ *$' >"$out/got"
same 'output and progress on one terminal' "$out/wanted" "$out/got"

terminal "$leat sum file slow nosuch >/dev/null" "$shown"
tr '\r' '\n' <"$out/terminal" | grep -Ev 'files,|^ *$' >"$out/got"
echo 'leat sum: nosuch: No such file or directory' >"$out/wanted"
same 'messages and progress on one terminal' "$out/wanted" "$out/got"

# Of a long name the end is shown, with what is not printable quoted, and no more than fits.
long=$(printf 'x/%.0s' {1..60})
mkdir -p "$long"
ln -s "$PWD/slow" "$long"/$'e\001d'
terminal "stty cols 70 </dev/tty; $leat sum $long/e* >/dev/null" 'B/s: .*e'
tr '\r' '\n' <"$out/terminal" | grep files, >"$out/got"
grep -q "B/s: \.\.\..*x//*e'.*001.*d' *\$" "$out/got" || fail "a long name: $(head -n 1 "$out/got")"
[ "$(wc -L <"$out/got")" -le 70 ] || fail 'a long name does not fit'

terminal "$leat sum --no-progress file slow >/dev/null"
is_shown && fail 'progress in spite of --no-progress'
terminal "$leat sum file slow >/dev/null 2>'$out/got.err'"
is_shown && fail 'progress on a terminal that is not standard error'
same 'no progress in a file' /dev/null "$out/got.err"

# the line names a file also when one that is read in many pieces began before it
mkfifo pieces
(
    exec 3>pieces
    head -c 40M /dev/zero >&3
    : >pumped
    until [ -e begun ]; do sleep 0.02; done
    sleep 0.3 # else it may end before leat reads the other one, and hide nothing
) &
(
    until [ -e pumped ]; do sleep 0.02; done
    exec 3>slow
    : >begun
    for _ in {1..600}; do
        ! grep -q '/s: slow' "$out/terminal" || break
        sleep 0.1
    done
) &
: >"$out/terminal"
script -qefc "$leat sum -j2 pieces slow >'$out/got'" /dev/null </dev/null >"$out/terminal"
wait
grep -q '/s: slow' "$out/terminal" || fail 'a file is hidden by one in many pieces'

finish
