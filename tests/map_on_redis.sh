#!/usr/bin/env bash
# leat map --on=redis://HOST/QUEUE: commands run by whatever workers are at the queue, as they run
# on one machine.
. "$(dirname "$0")/redis_common.bash"

host=$(uname -n)
LEAT_LINK_PASSWORD=nothing LEAT_LINK_USER=default begin_worker -j8 --lease=2

# the same as here: output and its order, errors, status, input, files, folders, variables
mixed='sleep 0.0$((RANDOM % 3)); echo $1 $LEAT_SEQ; seq $(($1 * 50)); echo e$1 >&2
    exit $(($1 % 9 == 0))'
"$leat" map -s "$mixed" ::: $(seq 40) >"$out/wanted" 2>"$out/wanted.err"
is 'here' 1 $?
map --on="$queue*6" -s "$mixed" ::: $(seq 40) >"$out/got" 2>"$out/err"
is 'as here: status' 1 $?
same 'as here: output' "$out/wanted" "$out/got"
same 'as here: errors' "$out/wanted.err" "$out/err"
gives 'tag and lines' 0 $'x\t1' --on="$queue" --tag -l -s 'printf 1' ::: x
gives 'columns' 0 'b a' --on="$queue" -C , echo '{2}' '{1}' ::: a,b
map --on="$queue" -u -s '[ $1 = 2 ] || until grep -q 2 "$2"; do sleep 0.02; done; echo $1' \
    ::: 1 2 ::: "$out/got" >"$out/got"
is 'unordered' '2 1' "$(xargs <"$out/got")"
seq 200000 >numbers
map --on="$queue" --pipe=100K cat <numbers >"$out/got"
same 'input' numbers "$out/got"
is 'input that nobody reads' 0 "$(map --on="$queue" --pipe=300K true <numbers; echo $?)"
mkdir files
map --on="$queue" -o 'files/{}' seq ::: 10 20000
is 'files' '10 20000' "$(wc -l <files/10) $(wc -l <files/20000)"
gives 'a folder' 0 /usr --on="$queue" --dir=/usr pwd ::: ''
gives 'variables' 0 '1 1' --on="$queue" -s 'echo $LEAT_SEQ $LEAT_TRY' ::: a
in_proc='grep -czE "PASSWORD=[^[:cntrl:]]" /proc/$PPID/environ'
gives 'no password for jobs' 0 'none 0' --on="$queue" \
    -s "echo \${LEAT_LINK_PASSWORD-none} \$($in_proc)" ::: x
odd=$(printf '%b' "$(for i in $(seq 255); do printf '\\x%02x' "$i"; done)")
printf '%s\0' "$odd" | map -0 --on="$queue" -s 'printf %s "$1"' >"$out/got"
printf '%s' "$odd" >"$out/wanted"
same 'every byte' "$out/wanted" "$out/got"
gives 'no item' 0 '' --on="$queue" echo </dev/null
gives 'a dry run reaches no queue' 0 'echo 1' --on=redis://none.invalid/q --dry-run echo ::: 1

# exactly N at a time, although the worker has more places
peak='mkdir -p in; : >in/$1; ls in | wc -l >>peaks; until [ "$(ls in | wc -l)" -ge 3 ] ||
    [ -e full ]; do sleep 0.01; done; : >full; ls in | wc -l >>peaks; rm in/$1; echo $LEAT_SLOT'
slots=$(map --on="$queue*3" -s "$peak" ::: 1 2 3 4 5 6 7 8)
is 'three places' '1 2 3' "$(sort -u <<<"$slots" | xargs)"
is 'all of them in use, and no more' 3 "$(sort -n peaks | tail -n 1)"

# with machines and this one, in one list
meet='mkdir -p met; : >met/$1; until [ -e met/1 ] && [ -e met/2 ] && [ -e met/3 ]; do
    sleep 0.02; done; test $1 != 3'
map --on=":*1,a*1,$queue*1" --log=log -s "$meet" ::: 1 2 3 2>/dev/null
is 'a list of three' ": a $host" "$(tail -n +2 log | cut -f2 | sort | xargs)"
gives 'resumed' 1 '' --on="$queue" --log=log --resume -s "$meet" ::: 1 2 3
is 'resumed: log' "$host 1 0" "$(tail -n 1 log | cut -f2,7,8 | xargs)"

# time limits, retries, halt
rm log
says 'a time limit' 1 '1 of 1 jobs failed' --on="$queue" --timeout=0.2 --log=log sleep ::: 1000
is 'a time limit: log' '-1 15' "$(tail -n 1 log | cut -f7,8 | xargs)"
gives 'retries' 0 3 --on="$queue" --retries=3 --backoff=0.01 \
    -s 'echo $LEAT_TRY; test $LEAT_TRY = 3' ::: x
map --on="$queue*2" --fail-fast -s '[ $1 = 2 ] && exit 1; echo $$ >>pids; exec sleep 1000' \
    ::: 1 2 3 2>"$out/err"
is 'halted' 1 $?
grep -q 'halted: 1 of' "$out/err" || fail "halted: $(cat "$out/err")"
# shellcheck disable=SC2046
[ ! -e pids ] || wait_for are_gone $(cat pids)

# programs that cannot be run, and outputs that are too large
says 'not found' 127 "$host: no-such: command not found" --on="$queue" no-such ::: 1 2 3
map --on="$queue" --log=large -s '[ $1 = 2 ] && exec yes; echo $1' ::: 1 2 3 \
    >"$out/got" 2>"$out/err"
is 'a large output: status' 1 $?
is 'a large output: the others' '1 3' "$(xargs <"$out/got")"
grep -q 'job 2: its output is more than a queue takes' "$out/err" ||
    fail "a large output: $(cat "$out/err")"
is 'a large output: log' '-1 25' "$(grep ' 2$' large | cut -f7,8 | xargs)"
wait_for nothing_left

# the password
cli config set requirepass secret >/dev/null
says 'no password' 2 'NOAUTH' --on="$queue" echo ::: 1
LEAT_LINK_PASSWORD=secret LEAT_LINK_USER='' gives 'no user' 0 1 --on="$queue" echo ::: 1
LEAT_LINK_PASSWORD=secret gives 'a password' 0 1 --on="$queue" echo ::: 1
# which no job gets, wherever it runs: each waits until all three have begun
LEAT_LINK_PASSWORD=secret LEAT_LINK_USER=default gives 'no password for jobs anywhere' 0 \
    $'none default 0\nnone default 0\nnone default 0' --on=":*1,a*1,$queue*1" -s 'mkdir -p began
    : >began/$1; until [ "$(ls began | wc -l)" -ge 3 ]; do sleep 0.02; done
    echo ${LEAT_LINK_PASSWORD-none} $LEAT_LINK_USER $(grep -c secret /proc/$PPID/environ)' ::: 1 2 3
# and which a job keeps in a run that has no use for it
LEAT_LINK_PASSWORD=secret gives 'a password of the jobs' 0 secret \
    -s 'echo ${LEAT_LINK_PASSWORD-none}' ::: 1
redis-cli -s "$socket" --no-auth-warning -a secret config set requirepass '' >/dev/null
LEAT_LINK_PASSWORD='' LEAT_LINK_USER='' gives 'an empty password' 0 1 --on="$queue" echo ::: 1
says 'a password for all to see' 2 'use LEAT_LINK_USER and LEAT_LINK_PASSWORD' \
    --on=redis://me:secret@host/q echo ::: 1
grep -q secret "$out/err" && fail 'the password is shown once more'
says 'a password in a scheme of capitals' 2 'use LEAT_LINK_USER and LEAT_LINK_PASSWORD' \
    --on=REDIS://me:secret@host/q echo ::: 1
grep -q secret "$out/err" && fail 'the password is shown with a scheme of capitals'
for scheme in redis REDIS; do
    "$leat" worker $scheme://me:secret@host/q 2>"$out/err" && fail 'a worker with a password'
    grep -q 'LEAT_LINK_PASSWORD' "$out/err" || fail "a worker's password: $(cat "$out/err")"
    grep -q secret "$out/err" && fail 'the password is shown once more by a worker'
done

# addresses
for bad in redis://h redis://h/ 'redis://h/a b' redis:///q redis:q rediss://h "$queue*0"; do
    says "--on=$bad" 2 'leat map: ' --on="$bad" echo ::: 1
    [ "$(grep -c 'leat map: ' "$out/err")" = 1 ] || fail "--on=$bad: $(cat "$out/err")"
done
name=$(printf '%0124d' 0)
gives 'a long name' 0 'echo 1' --on="redis://h/$name" --dry-run echo ::: 1
says 'a name that is too long' 2 'of up to 124 letters' --on="redis://h/${name}0" echo ::: 1
says 'nobody there' 2 'no machine is left' --on=redis+unix:/none/q echo ::: 1
is 'a worker with nobody there' 2 "$("$leat" worker redis+unix:/none/q 2>/dev/null; echo $?)"
# Where no name server answers, the reason is another one.
unknown='redis://none.invalid/q: (this host is not known|Host is down)$'
map --on=redis://none.invalid/q echo ::: 1 2>&1 | grep -qE "$unknown" || fail 'an unknown host'
"$leat" worker redis://none.invalid/q 2>&1 | grep -qE "$unknown" ||
    fail 'a worker with an unknown host'
wanted="leat worker: invalid argument '1ms' for '--lease': it takes a time of 100ms or more"
is 'a short lease' "$wanted" "$("$leat" worker --lease=1ms redis://h/q 2>&1 | head -n 1)"
wanted="leat worker: invalid argument '25h' for '--lease': it takes a time of 24h or less"
is 'a long lease' "$wanted" "$("$leat" worker --lease=25h redis://h/q 2>&1 | head -n 1)"
# an engine that may lose jobs
cli config set appendonly no >/dev/null
says 'an engine that forgets' 2 'a restart would lose everything' --on="$queue" echo ::: 1
grep -q trust "$out/err" && fail "no option of leat map: $(cat "$out/err")"
cli config set appendonly yes >/dev/null
for bad in '-j0' '--lease=1ms' '--grace=x' '--dir=/none' more --no-such; do
    "$leat" worker "$queue" $bad 2>"$out/err"
    is "worker $bad" 2 $?
done

finish
