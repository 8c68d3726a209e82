#!/usr/bin/env bash
# leat map --on: commands run on other machines as they do on this one.
. "$(dirname "$0")/on_common.bash"

# n is the sum of the places, and each has its number
peak='mkdir -p in; : >in/$1; ls in | wc -l >>peaks; until [ "$(ls in | wc -l)" -ge 5 ] ||
    [ -e full ]; do sleep 0.01; done; : >full; ls in | wc -l >>peaks; rm in/$1; echo $LEAT_SLOT'
slots=$(map --on='a*2,b,:*1' -j2 -s "$peak" ::: 1 2 3 4 5 6 7 8 9 10)
is 'five places' '1 2 3 4 5' "$(sort -u <<<"$slots" | xargs)"
is 'all of them in use, and no more' 5 "$(sort -n peaks | tail -n 1)"

# a machine that does not end is given up when all is done, some seconds later, also with this grace
map --on=stays --grace=1h echo ::: 1 >"$out/stays" 2>&1 & stays=$!

# three jobs at once: none goes on before the others are there
meet='mkdir -p in; : >in/$1; until [ -e in/1 ] && [ -e in/2 ] && [ -e in/3 ]; do sleep 0.02; done'

rm -rf in
gives 'all places, whatever the window' 0 '' --on='a*2,b*1' --window=1 -s "$meet" ::: 1 2 3
rm -r in

gives 'all places, with -n max' 0 $'1 2\n3 4\n5' --on='a*2,b' -j1 -n max echo ::: 1 2 3 4 5

# order, streams, status, input, files, folders
gives 'order' 0 "$(seq 100)" --on='a*3,b*2' sh -c 'sleep 0.0$((RANDOM % 3)); echo {}' ::: $(seq 100)
gives 'some fail' 1 $'1\n2\n3' --on=a -s 'echo $1; exit $((1 - $1 % 2))' ::: 1 2 3
grep -q '1 of 3 jobs failed' "$out/err" || fail "some fail: $(cat "$out/err")"
gives 'errors' 0 '' --on=a -s 'echo $1 >&2' ::: 1 2
is 'errors: text' $'1\n2' "$(cat "$out/err")"
gives 'tag and lines' 0 $'x\t1' --on=a --tag -l -s 'printf 1' ::: x
seq 200000 >numbers
map --on='a*2,b' --pipe=100K cat <numbers >"$out/got"
same 'input' numbers "$out/got"
is 'input that nobody reads' 0 "$(seq 2000000 | map --on='a*2' --pipe=3M true >/dev/null; echo $?)"
seq 2000000 | map --on=a --pipe=20M sh -c 'sleep 0.2; cat' | cmp - <(seq 2000000) ||
    fail 'an input of more than any credit'
map --on='a*2,b*2' -o 'files/{}' seq ::: 10 20000 2>"$out/err"
is 'no folder for a file' 2 $?
mkdir files
map --on='a*2,b*2' -o 'files/{}' seq ::: 10 20000
is 'files' '10 20000' "$(wc -l <files/10) $(wc -l <files/20000)"
map --on=a -o 'files/{}' -s 'echo part; false' ::: no 2>/dev/null
is 'a file whose job failed' '10 20000' "$(ls files | xargs)"
(
    trap '' XFSZ
    ulimit -f 8
    says 'a file without room' 2 'big: File too large' --on=a -o big -s 'seq 100000' ::: 1
    exit $failures
) || fail 'a file without room'
is 'a file without room' '' "$(ls | grep big)"
gives 'a folder' 0 /usr --on=a --dir=/usr pwd ::: ''
gives 'a folder here' 0 /usr --dir=/usr -s pwd ::: x
says 'no such folder' 2 'a: leat worker: /none: No such file' --on=a --dir=/none echo ::: 1
odd=$(printf '%b' "$(for i in $(seq 255); do printf '\\x%02x' "$i"; done)")
printf '%s\0' "$odd" | map -0 --on=a -s 'printf %s "$1"' >"$out/got"
printf '%s' "$odd" >"$out/wanted"
same 'every byte' "$out/wanted" "$out/got"
long=$(head -c 100000 /dev/zero | tr '\0' x)
gives 'long arguments' 0 500007 --on=a -n5 -s 'echo "$*" | wc -c' \
    ::: $long $long $long $long ${long}xx
gives 'variables' 0 $'1 1\n2 1' --on=a -j1 -s 'echo $LEAT_SEQ $LEAT_TRY' ::: a b

# output after a slow job, and output that is never read
{ echo first; seq 300000; } >"$out/wanted"
slow='if [ $1 = 1 ]; then sleep 0.5; echo first; else seq 300000; fi'
for spill in 0 1G; do
    map --on='a*2' --spill=$spill -s "$slow" ::: 1 2 >"$out/got"
    same "output behind a slow job, --spill=$spill" "$out/wanted" "$out/got"
done
map --on='a*2' yes ::: 1 2 2>"$out/err" | head -n 1 >/dev/null
is 'a reader that has enough' '141 0' "${PIPESTATUS[*]}"

# the head of the line streams
mkfifo stream
map --on='a*2' -s 'echo begun; until [ -e heard ]; do sleep 0.02; done; echo done' ::: 1 >stream &
{ read -r line; : >heard; read -r last; } <stream
wait $!
is 'streams' 'begun done' "$line $last"

# time limits, retries, halt, log, resume
says 'a time limit' 1 '1 of 1 jobs failed' --on=a --timeout=0.2 sleep ::: 1000
gives 'retries' 0 3 --on=a --retries=3 --backoff=0.01 -s 'echo $LEAT_TRY; test $LEAT_TRY = 3' ::: x
map --on='a*2,b' --fail-fast -s '[ $1 != 3 ] || exit 1; sleep 0.0$1' ::: $(seq 9) 2>"$out/err"
is 'halted' 1 $?
grep -q 'halted: 1 of' "$out/err" || fail "halted: $(cat "$out/err")"
map --on='a*2,:*1' --log=log -s "$meet; test \$1 != 3" ::: 1 2 3 4 2>/dev/null
is 'log: hosts' ': a' "$(tail -n +2 log | cut -f2 | sort -u | xargs)"
gives 'resume' 1 '' --on=b --log=log --resume -s "$meet; test \$1 != 3" ::: 1 2 3 4
is 'resume: hosts' b "$(tail -n 1 log | cut -f2)"

# programs that cannot be run
says 'not found' 127 'a: no-such: command not found' --on='a*2' no-such ::: 1 2 3
: >plain
says 'not to be run' 126 "a: $PWD/plain: Permission denied" --on=a "$PWD/plain" ::: 1

# unusable machines are reported, and the others go on
gives 'one is unknown' 0 $'1\n2' --on=unknown,a \
    -s "until grep -q 'unknown: no' $out/err; do sleep 0.02; done; echo \$1" ::: 1 2
printf '%s\n' 'leat map: unknown: ssh: cannot resolve unknown' \
    'leat map: unknown: no leat worker answers' >"$out/wanted"
same 'one is unknown: messages' "$out/wanted" "$out/err"
map --on=stranger,slow echo ::: 1 >"$out/got" 2>"$out/err" & stranger=$!
wait_for [ -e "$WORKERS/slow" ]
: >"$WORKERS/go"
wait $stranger
is 'a stranger: status' 0 $?
is 'a stranger: output' 1 "$(cat "$out/got")"
says 'a greeting' 2 "stranger: this is not a leat worker: it said 'Welcome to the machine'" \
    --on=stranger echo ::: 1
says 'another version' 2 'old: it has version 0.0.1 of leat' --on=old echo ::: 1
says 'few descriptors' 2 'few: Too many open files: not even one job can run within its limits' \
    --on='few*4' echo ::: 1 2 3
for name in fewer fewest; do
    says "$name descriptors" 2 "$name: leat worker: " --on=$name echo ::: 1
    grep -q "leat worker: .*: Too many open files" "$out/err" || fail "$name: $(cat "$out/err")"
done
gives 'few descriptors, and another machine' 0 $'1\n2\n3' --on='few*4,a' echo ::: 1 2 3
says 'none is left' 2 'no machine is left' --on=unknown,unknown2 echo ::: 1
LEAT_SSH=$PWD/none says 'no ssh' 2 "a: $PWD/none: No such file" --on=a echo ::: 1
LEAT_SSH="env $(printf -- '-u X%s ' $(seq 40))$LEAT_SSH" \
    gives 'a long LEAT_SSH' 0 1 --on=a echo ::: 1
gives 'one that never answers' 0 1 --on=silent,a echo ::: 1
# and the end does not wait for one, nor does a signal: the grace is longer than a test
gives 'one that hangs' 0 1 --on=hangs,a --grace=1h echo ::: 1
env --default-signal "$leat" map --on=hangs2 --grace=1h echo ::: 1 &
hangs=$!
wait_for [ -s "$WORKERS/hangs2" ]
kill -INT $hangs
wait $hangs
is 'a signal while one hangs' 130 $?
gives 'more places than can be' 0 '' --on=':*4096,full' -j2 \
    -s "until grep -q 'full: runs 0 jobs in place of 2' $out/err; do sleep 0.02; done" ::: 1
gives 'a dry run reaches no machine' 0 'echo 1' --on=dry --dry-run echo ::: 1
[ ! -e "$WORKERS/dry" ] || fail 'a dry run has reached a machine'
gives 'no item' 0 '' --on=unknown echo </dev/null

# lists
printf '# a comment\n  a*2 # two\n\n\tb\r\n' >hosts
rm -rf in
is 'a file' '1 2 3' "$(map --on=@hosts -j1 -s "$meet; echo \$LEAT_SLOT" ::: 1 2 3 | sort | xargs)"
printf '# the machines\n\na*2\nb*many # too many\n' >hosts
says 'a bad line' 2 "hosts:4: invalid machine 'b*many': after '*'" --on=@hosts echo ::: 1
printf 'a\nredis://me:secret@host/q\n' >hosts
says 'a password in a file' 2 'hosts:2: an address must not have a password' --on=@hosts echo ::: 1
printf '# nothing else\n' >none
for bad in -oProxyCommand=x 'a b' '' 'a*0' 'a*x' 'a*4097' redis://q @/none @none; do
    says "--on=$bad" 2 'leat map: ' --on="$bad" echo ::: 1
    [ "$(grep -c 'leat map: ' "$out/err")" = 1 ] || fail "--on=$bad: $(cat "$out/err")"
done
"$leat" worker now 2>"$out/err" && fail 'a worker with an argument'
grep -q "unexpected argument 'now'" "$out/err" || fail "worker: $(cat "$out/err")"
"$leat" worker --help | grep -q '^Usage: leat worker' || fail 'worker --help'
is 'a worker without a link' 2 "$("$leat" worker </dev/null >/dev/null 2>&1; echo $?)"

wait $stays
is 'a machine that stays: status' 0 $?
is 'a machine that stays: output' 1 "$(cat "$out/stays")"

finish
