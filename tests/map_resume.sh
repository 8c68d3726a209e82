#!/usr/bin/env bash
# leat map: the log, and a run that goes on where another one ended.
. "$(dirname "$0")/map_common.bash"

map --log=log -s 'echo "$1"; exit "$1"' ::: 0 1 0 2>/dev/null >/dev/null
is 'header' $'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand' \
    "$(head -n 1 log)"
is 'columns' '1:0:2:0:0 2:1:2:1:0 3:0:2:0:0' \
    "$(tail -n +2 log | awk -F '\t' '{ print $1 ":" $7 ":" $6 ":" $7 ":" $8 }' | xargs)"
is 'Command' $'sh -c \'echo "$1"; exit "$1"\' sh 1' "$(sed -n 3p log | cut -f9)"
map --log=l2 echo {#} {%} ::: a >/dev/null
is 'number and place stay' "echo '{#}' '{%}' a" "$(sed -n 2p l2 | cut -f9)"
map --log=l3 -s 'kill -9 $$' ::: a 2>/dev/null
is 'a signal' '-1 9' "$(sed -n 2p l3 | cut -f7,8 | tr '\t' ' ')"
late='trap "exit 3" TERM; sleep 1000 & wait'
map --log=l4 --timeout=0.1 -s "$late" ::: a 2>/dev/null
is 'too late' '-1 15' "$(sed -n 2p l4 | cut -f7,8 | xargs)"
gives 'too late, and ended' 0 '' --log=l4 --resume=ended -s "$late" ::: a
gives 'too late, and again' 1 '' --log=l4 --resume --timeout=0.1 -s "$late" ::: a
map --log=l5 --pipe=4 -s 'cat; cat <&-' < <(seq 3) >/dev/null 2>&1
is 'bytes sent and received' '4 4 2 2' "$(tail -n +2 l5 | sort -n | cut -f5,6 | xargs)"
says 'a log that is not empty' 2 'not empty' --log=log echo ::: a
printf 'my notes\n' >notes
says 'a log that is not ours' 2 'not a log' --log=notes --resume echo ::: a
is 'it is left alone' 'my notes' "$(cat notes)"
printf 'half a line' >notes
says 'a log that is a pipe' 2 '/dev/fd/3: --log needs a file' --log=/dev/fd/3 echo ::: a \
    3> >(cat >"$out/read")
mkfifo fifo
says 'a log that is a FIFO' 2 'fifo: --log needs a file' --log=fifo echo ::: a
says 'not even a line' 2 'not a log' --log=notes --resume echo ::: a

# A line that is written only in part has a reason, too.
for size in 50 100; do
    prlimit --fsize=$size "$leat" map --log=short.$size echo ::: a >"$out/got" 2>"$out/said"
    is "a log of $size bytes: status" 2 $?
    is "a log of $size bytes" "leat map: short.$size: File too large" "$(cat "$out/said")"
done

# That is said, too, of jobs that had ended when the run was halted.
halts='case $1 in 1) exec sleep 1000 ;; 20) exit 1 ;; esac'
prlimit --fsize=400 "$leat" map --log=short --halt=now -j2 -s "$halts" ::: {1..20} \
    2>"$out/said"
is 'a log that is full at a halt: status' 2 $?
is 'a log that is full at a halt' 'leat map: short: File too large' \
    "$(grep -v halted: "$out/said")"

# A line for which memory runs out is no half line: the log stays as it is.
if [ -z "${SLOW_BUILD-}" ]; then
    map --log=whole echo ::: a b >/dev/null
    head -n 2 whole >wide
    truncate -s +1G wide
    tail -n 1 whole >>wide
    size=$(stat -c %s wide)
    (
        ulimit -v 400000
        exec "$leat" map --log=wide --resume echo ::: a b
    ) >"$out/got" 2>"$out/said"
    is 'too wide a line: status' 2 $?
    is 'too wide a line' 'leat map: wide: Cannot allocate memory' "$(cat "$out/said")"
    is 'the log stays' "$size" "$(stat -c %s wide)"
fi

# by command and not by number: the fault of a peer
map --log=order echo ::: a b c >/dev/null
gives 'a new item first' 0 $'NEW\nd' --log=order --resume echo ::: NEW a b c d
map --log=twice echo ::: a >/dev/null
gives 'an item that comes twice' 0 a --log=twice --resume echo ::: a a
gives 'and now both are done' 0 '' --log=twice --resume echo ::: a a
gives 'failed ones again' 1 1 --log=log --resume -s 'echo "$1"; exit "$1"' ::: 0 1 0
script='if [ -e now ]; then echo "$1"; else : >tried; exit 1; fi'
"$leat" map --log=waits --retries=3 --backoff=1h -s "$script" ::: 1 2>/dev/null &
run=$!
has_no_job() { ! grep -q . "/proc/$run/task"/*/children; }
wait_for [ -e tried ]
wait_for has_no_job
kill -TERM $run
wait $run
touch now
gives 'waited for another try' 0 1 --log=waits --resume=ended -s "$script" ::: 1
gives 'not those that ended' 0 '' --log=log --resume=ended -s 'echo "$1"; exit "$1"' ::: 0 1 0
gives 'a new one' 0 b --log=new --resume echo ::: b
# the same command for different files
mkdir a b
map -j1 --log=files -o '{//}/out' sh -c 'test "$LEAT_SEQ" != 1' {/} ::: a/x b/x 2>/dev/null
map -j1 --log=files --resume -o '{//}/out' sh -c 'test "$LEAT_SEQ" != 1' {/} ::: b/x a/x
[ -e a/out ] || fail 'the same command for another file'
# jobs that a signal to leat has ended have neither succeeded nor failed
"$leat" map -j2 --log=int -s 'echo "$1"; [ "$1" = a ] || [ -e go ] || sleep 1000' \
    ::: a b c >"$out/got" &
run=$!
wait_for grep -qs 'sh a$' int
kill -TERM $run
wait $run
: >go
gives 'ended by a signal' 0 $'b\nc' --log=int --resume=ended \
    -s 'echo "$1"; [ "$1" = a ] || [ -e go ] || sleep 1000' ::: a b c
says '--pipe' 2 'cannot be combined with --pipe' --log=pipe --resume --pipe wc
says 'not found, resumed' 127 'not found' --log=none nosuch ::: a
says 'not found again' 127 'not found' --log=none --resume=ended nosuch ::: a
# GNU parallel writes that a signal has ended a job
{ head -n 1 log; printf '1\t:\t0.000\t     0.001\t0\t0\t0\t9\techo a\n'; } >signal
cp signal signal.2
gives 'a signal, by parallel, and ended' 0 '' --log=signal --resume=ended echo ::: a
gives 'a signal, by parallel, and again' 0 a --log=signal.2 --resume echo ::: a
# a job that has no file for its output, or whose file cannot get its name, has not ended
says 'no folder for a file' 2 'out/a: No such file' --log=nofile -o 'out/{}' echo ::: a
is 'no folder for a file: one message' 1 "$(wc -l <"$out/err")"
mkdir out
gives 'no folder for a file, resumed' 0 '' --log=nofile -o 'out/{}' --resume=ended echo ::: a
is 'no folder for a file: the file' a "$(cat out/a)"
says 'a folder has the name' 2 'out/b: Is a directory' --log=nofile --resume=ended -o 'out/{}' \
    mkdir -p out/b ::: b
rmdir out/b
gives 'a folder has the name, resumed' 2 '' --log=nofile --resume=ended -o 'out/{}' \
    mkdir -p out/b ::: b
# a line that was not written whole
map --log=torn echo ::: a b >/dev/null
head -c -3 torn >t && mv t torn
gives 'torn' 0 b --log=torn --resume echo ::: a b
is 'torn: whole again' 3 "$(grep -c . torn)"
is 'torn: readable' 'echo a echo b' "$(tail -n +2 torn | cut -f9 | xargs)"

# names of every byte but NUL: a log with each, and a file or a tag for each
perl -e 'my @all = grep { $_ ne "/" } map { chr } 1 .. 255;
    print map { "$_\0" } @all, join("", @all), "\$(x)", "a\tb\n\tc"' >names
count=$(tr -dc '\0' <names | wc -c)
mkdir odd.files
map -0 --log=odd -o 'odd.files/x{}' printf %s <names || fail 'odd names'
is 'odd names: files' "$count" "$(find odd.files -printf x -name 'x*' | tail -c +2 | wc -c)"
perl -0 -ne 'chomp; open(my $file, "<", "odd.files/x$_") or die; print <$file>, "\0"' names \
    >"$out/got"
same 'odd names: each is in its file' names "$out/got"
is 'odd names: a line each' $((count + 1)) "$(wc -l <odd)"
mv odd.files odd.made
mkdir odd.files
# shellcheck disable=SC1090
. <(tail -n +2 odd | cut -f9)
diff -r odd.made odd.files >"$out/got"
same 'odd names: a shell does the same by the log' /dev/null "$out/got"
{ printf 'new\0'; cat names; } >more
map -0 --log=odd --resume -o 'odd.files/x{}' -v printf %s <more 2>"$out/err"
is 'odd names: resumed' 0 $?
is 'odd names: only the new one is run' "leat map: printf '%s' new" "$(cat "$out/err")"
map -0 --tag printf '%s\n' <names >"$out/got"
perl -0 -ne 'chomp(my $name = $_); print map { "$name\t$_" } "$name\n" =~ /.*\n/g' names \
    >"$out/wanted"
same 'odd names: tags' "$out/wanted" "$out/got"

# killed at any moment and resumed: each output is there, and what the log has is there once; no
# more jobs begin twice than the window has; and a file that has its name is whole
numbers=$work/numbers
seq 100 >"$numbers"
rounds=9
[ -z "${LEAT_LONG:-}" ] || rounds=200
job='echo "$1" >>starts; echo "$1"'
# killed ARGUMENT...: a run that is killed; what it says is in `all`. Each has a folder of its own,
# since its jobs may outlive it.
folders=0
killed() {
    folders=$((folders + 1))
    mkdir -p "$work/killed$folders/results"
    cd "$work/killed$folders" || exit 1
    : >all # the run may be killed before it has a shell
    "$leat" map -j4 --log=log "$@" -s "$job" <"$numbers" >>all &
    run=$!
    sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
    kill -9 $run 2>/dev/null
    wait $run 2>/dev/null
    [ -s log ] || rm -f log
}
# resumed ARGUMENT...: goes on with it
resumed() {
    map -j4 --log=log --resume "$@" -s "$job" <"$numbers" >>all
    is "resumed $*: status" 0 $?
    is "resumed $*: the log has all" 100 "$(tail -n +2 log | cut -f9 | sort -u | wc -l)"
}
# The last line may be torn: a kill can end a write at the end of a page.
logged() {
    [ ! -e log ] || tail -n +2 log | perl -ne 'print if /\S.*\n/'
}
for ((i = 0; i < rounds; i += 3)); do
    killed
    [ "$(logged | wc -l)" -le "$(wc -l <all)" ] || fail 'logged before it was delivered'
    resumed
    sort -nu all >"$out/got"
    same 'killed and resumed' "$numbers" "$out/got"

    killed --window=6
    resumed --window=6
    sort -nu all >"$out/got"
    same 'killed and resumed, a small window' "$numbers" "$out/got"
    # Jobs of the killed run may still have been about to begin.
    [ "$(wc -l <starts)" -le 106 ] || fail "a window of 6: $(wc -l <starts) starts"

    killed -o 'results/{}'
    logged | sed -n 's/.*>//p' | while read -r name; do
        [ -e "$name" ] || echo "$name"
    done >"$out/got"
    same 'logged before it had its name' /dev/null "$out/got"
    resumed -o 'results/{}'
    (cd results && printf '%s\n' * | sort -n) >"$out/got"
    same 'killed and resumed, files' "$numbers" "$out/got"
    cat results/* | sort -n >"$out/got"
    same 'killed and resumed, files: content' "$numbers" "$out/got"
done

# Output that waited in a file and cannot be read again: its job is not logged.
rm -f log held go
"$leat" map -j2 --log=log -s 'case $1 in
    1) until [ -e go ]; do sleep 0.02; done ;;
    2) head -c 20000000 /dev/zero ;;
    3) : >held ;;
    esac' ::: 1 2 3 >"$out/got" 2>"$out/err" &
run=$!
wait_for test -e held
: >"$(find /proc/$run/fd -lname '* (deleted)')"
: >go
wait $run
is 'output that is lost: status' 2 $?
is 'output that is lost: the log' '1 3' "$(tail -n +2 log | cut -f1 | xargs)"

finish
