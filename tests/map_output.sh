#!/usr/bin/env bash
# leat map: outputs are whole, in order or as they come, and memory is bounded.
. "$(dirname "$0")/map_common.bash"

# in order
seq 500 >numbers
map -j8 -s 'sleep 0.00$((RANDOM % 5)); echo "$1"' <numbers >"$out/got"
same 'in order' numbers "$out/got"
map -j8 -u -s 'echo "$1"' <numbers | sort -n >"$out/got"
same 'unordered' numbers "$out/got"
map -j2 -u -s '[ "$1" = 2 ] || until grep -q 2 ended; do sleep 0.01; done; echo "$1"' ::: 1 2 >ended
is 'as they end' '2 1' "$(xargs <ended)"

# the first in line streams: the job goes on when its line has been read
mkfifo first
map -j2 -s 'echo begun; while [ ! -e seen ]; do sleep 0.01; done; echo "$1"' ::: 1 2 >first &
read -r line <first
is 'streams' begun "$line"
: >seen
wait $!

# each output whole: every one is larger than a pipe
map -j4 -u -s 'for i in 1 2 3 4 5 6 7 8; do head -c 20000 /dev/zero | tr "\0" "$1"; done; echo' \
    ::: a b c d e f | uniq -c | wc -l >"$out/got"
is 'whole' 6 "$(cat "$out/got")"
map -j4 -u -s 'for i in 1 2 3; do head -c 50000 /dev/zero | tr "\0" "$1"; done; echo' \
    ::: a b c d | tr -s a-d | sort | xargs >"$out/got"
is 'not torn' 'a b c d' "$(cat "$out/got")"

# lines and tags
map -j4 -l -s 'for i in $(seq 300); do printf %s "$1"; printf "%s\n" "$1$1"; done' ::: a b c d |
    sort | uniq -c | xargs >"$out/got"
is 'lines' '300 aaa 300 bbb 300 ccc 300 ddd' "$(cat "$out/got")"
seq 200 | map -j8 -l --tag -s 'for i in 1 2 3; do printf %s "$1."; echo $i; done; printf end' |
    grep -cE '^([0-9]+)	(\1\.[123]|end)$' >"$out/got"
is 'lines, no line feed at the end' 800 "$(cat "$out/got")"
gives 'tag' 0 $'a\tx\na\ty\nb\tx\nb\ty' --tag -s 'echo x; echo y' ::: a b
gives 'tag, no line feed' 0 $'a\tx\nb\tx' --tag printf x%.0s ::: a b
# Job d has the place of job b, so that one is over when job c ends the run.
map --tag -j3 --fail-fast -s 'case $1 in
    a) printf abc; exec sleep 50;; b) echo bb;; d) : >begun; exec sleep 50;;
    c) until grep -q abc got && [ -e begun ]; do sleep 0.02; done; echo x; exit 1;;
    esac' ::: a b c d >got 2>"$out/err"
is 'tag, ended within a line: status' 1 $?
is 'tag, ended within a line: output' $'a\tabc\nb\tbb\nc\tx' "$(cat got)"
rm begun
is 'no line feed added' xx "$(map printf x%.0s ::: a b)"
gives 'tag of blocks' 0 $'1\ta\n2\tb' -j1 --tag --pipe=1 cat < <(printf 'a\nb\n')
gives 'tag of columns' 0 $'a,b\ta' -C, --tag echo {1} ::: a,b

# what is run
map -v -j1 echo ::: a 'b c' >"$out/got" 2>"$out/err"
is '-v: output' $'a\nb c' "$(cat "$out/got")"
is '-v: commands' $'leat map: echo a\nleat map: echo \'b c\'' "$(cat "$out/err")"
map -v -j1 --retries=1 --backoff=1ms -s 'exit 3' ::: a 2>"$out/err"
is '-v: each try' 2 "$(grep -cx "leat map: sh -c 'exit 3' sh a" "$out/err")"

# standard error with its job, and status
map -j4 -s 'echo "$1" >&2; sleep 0.0$((5 - $1))' ::: 1 2 3 4 2>"$out/got"
is 'errors in order' '1 2 3 4' "$(xargs <"$out/got")"
map -s 'head -c 10000000 /dev/zero >&2' ::: 1 2 2>"$out/got" >/dev/null
is '10 MB of errors' 20000000 "$(wc -c <"$out/got")"

# files
gives '-o' 1 '' -o 'o.{}' -s 'echo "$1"; exit "$1"' ::: 0 1
is '-o: those that succeeded' 'o.0' "$(echo o.*)"
is '-o: nothing is left' '' "$(find . -name '.leat-map*')"
is '-o: content' 0 "$(cat o.0)"
map -j1 -o 'p.{}' -s 'ls p.* 2>/dev/null; echo ok' ::: 1
is '-o: only when it is whole' ok "$(cat p.1)"
map -j2 --fail-fast -o 'q.{}' -s 'if [ "$1" = bad ]; then while [ ! -e begun ]; do sleep 0.01; done
    exit 1; fi; trap "exit 0" TERM; echo part; : >begun; while :; do sleep 0.05; done' ::: a bad \
    2>"$out/err"
is '-o: ended with the run' '' "$(ls q.* 2>/dev/null)"
mkfifo device
says '-o: not a file' 2 'device: --output replaces a file, but no log, link, device or pipe' \
    -o device true ::: a
[ -p device ] || fail '-o: a FIFO was replaced'
says '-o: the log' 2 './o.log: --output replaces a file, but no log' --log=o.log -o './o.{}' \
    echo ::: log
head -n 1 o.log | grep -q ^Seq || fail '-o: the log was replaced'
says '-o: no folder' 2 ': No such file' -o 'nosuch/{}' true ::: a b
mkdir folder
ln -s nowhere link
says '-o: a folder' 2 'folder: Is a directory' -o folder true ::: a
says '-o: a link' 2 'link: --output replaces a file, but no log, link' -o link true ::: a
[ -L link ] || fail '-o: a link was replaced'
# A file of an earlier run stays until its job has succeeded.
echo before >old
gives '-o: fails' 1 '' -o old -s 'echo after; false' ::: a
is '-o: a job that fails leaves the file' before "$(cat old)"
gives '-o: replaced' 0 '' -o old -s 'cat old; echo after' ::: a
is '-o: replaced: content' 'before after' "$(xargs <old)"
(umask 027 && map -o masked true ::: a)
is '-o: mode' 640 "$(stat -c %a masked)"
chmod 600 masked
map -o masked true ::: a
is '-o: mode of an earlier file' 600 "$(stat -c %a masked)"
gives '-o: one name' 0 '' -j1 -o shared echo ::: 1 2
is '-o: one name: the last one' 2 "$(cat shared)"

# what does not fit waits: in a file, and without one in the job
big='if [ "$1" = 1 ]; then while [ ! -e go ]; do sleep 0.05; done
    else head -c 30000000 /dev/zero; fi'
big() {
    map -j3 "$@" -s "$big" ::: 1 2 3
}
for spill in 0 1M 16M 1G; do
    rm -f go
    (sleep 0.3; : >go) &
    is "spill $spill" 60000000 "$(big --spill=$spill | wc -c)"
    wait $!
done
rm -f go
(sleep 0.5; : >go) &
is 'no folder for files' 60000000 "$(TMPDIR=/nosuch big | wc -c)"
wait $!
# Where no file can be without a name, it loses its name at once. Job 1 waits until all is in it.
if strace -o "$out/strace" true 2>/dev/null && [ -z "${LEAT_SANITIZE:-}" ]; then
    mkdir spills
    rm -f go
    TMPDIR=$PWD/spills strace -f --seccomp-bpf -qq -o "$out/strace" -P "$PWD/spills" \
        -e trace=openat -e inject=openat:error=EOPNOTSUPP \
        timeout -k 5 --foreground 120 "$leat" map -j2 -s 'if [ "$1" = 1 ]
            then until [ -e go ]; do sleep 0.02; done
            else head -c 20000000 /dev/zero; ls -A spills >left; : >go; fi' ::: 1 2 |
        wc -c >"$out/got"
    is 'a file that has had a name: output' 20000000 "$(cat "$out/got")"
    grep -q O_TMPFILE "$out/strace" || fail 'a file without a name was not refused'
    same 'a file that has had a name: its folder' /dev/null left
fi
# Tries again that find all places with jobs that wait for their turn.
map -j2 --spill=0 --retries=1 --backoff=300ms -s 'if [ "$1" = 1 ]; then
        [ "$LEAT_TRY" = 2 ] && echo second
    else
        head -c 9000000 /dev/zero | tr "\0" x; echo
    fi' ::: 1 2 3 4 | cut -c1-6 >"$out/got"
is 'tries again without a place' 'second xxxxxx xxxxxx xxxxxx' "$(xargs <"$out/got")"
# Others that fill the memory do not keep the first in line from being tried again.
is 'tries again beside others' 20070000 \
    "$(map -j2 --retries=1 --backoff=0.1 --spill=0 -s 'case $1 in
    a) head -c 70000 /dev/zero; while [ ! -e full ]; do sleep 0.05; done; test "$LEAT_TRY" = 2;;
    b) head -c 8000000 /dev/zero; : >full; head -c 12000000 /dev/zero;; esac' ::: a b | wc -c)"
rm -f full
is 'unordered without room' 36000000 \
    "$(map -j4 -u --spill=0 -s 'head -c 9000000 /dev/zero' ::: 1 2 3 4 | wc -c)"

# the output of a last try that has waited for its turn is printed at its turn
mkfifo last
map -j2 --retries=1 --backoff=0.01 -s 'case $1$LEAT_TRY in
    1*) until [ -e waits ]; do sleep 0.02; done; sleep 0.2;; 21) exit 1;;
    *) echo begun; : >waits; until [ -e heard ]; do sleep 0.02; done; echo done;;
    esac' ::: 1 2 >last &
{ read -r line; : >heard; cat >/dev/null; } <last
wait $!
is 'a last try' begun "$line"
rm -f heard

# a file system that is full: waiting output has room elsewhere, a file of --output and a log do not
if can_be_full; then
    rm -f go
    (sleep 0.5; : >go) &
    TMPDIR=$PWD/full on_full -j3 -s "$big" ::: 1 2 3 >"$out/got"
    is 'a full file system: status' 0 $?
    is 'a full file system: output' 60000000 "$(wc -c <"$out/got")"
    wait $!
    on_full -j1 -o 'full/{}' -s 'if [ "$1" = a ]; then exec head -c 2000000 /dev/zero; fi
        echo ok; ls -A full | wc -l >&2' ::: a b 2>"$out/err"
    is 'a file on a full file system: status' 1 $?
    is 'a file on a full file system: only that of the next job is there' 1 \
        "$(grep -xE '[0-9]+' "$out/err")"
    on_full -j1 --log=full/log -s 'head -c 2000000 /dev/zero >full/all' \
        ::: 1 "$(printf %09000d 2)" 2>"$out/err"
    is 'a log on a full file system: status' 2 $?
    grep -q 'full/log: No space left' "$out/err" || fail "a full log: $(cat "$out/err")"
else
    echo 'skipped: what a full file system does, since none can be mounted'
fi

# memory
if [ -z "${LEAT_SANITIZE:-}" ]; then
    # The output of job 2 comes long before that of job 1: all of it is in the file when it ends,
    # and without a file it waits in its write. Job 3 shows the most that leat has held.
    mkfifo behind
    has_written() {
        local n
        n=$(sed -n 's/^wchar: //p' "/proc/$(cat big)/io" 2>/dev/null)
        [ "${n:-0}" -gt $((8 << 20)) ]
    }
    for spill in 1G 0; do
        most=13000000 # 103 MB
        [ $spill = 0 ] || [ -z "${LEAT_LONG:-}" ] || most=118485000 # 1 GiB
        digits=${#most}
        bytes=$(((digits + 1) * (most + 1) - (10 ** digits - 1) / 9 - 1 + 6)) # "first", too
        rm -f go big drained peak
        "$leat" map -j2 --spill=$spill -s 'case $1 in
            1) until [ -e go ]; do sleep 0.02; done; echo first ;;
            2) echo $$ >big; exec seq "$2" ;;
            *) until [ -e drained ]; do sleep 0.02; done
                sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p" /proc/$PPID/status >peak ;;
            esac' ::: 1 2 3 ::: $most >behind 2>"$out/err" &
        run=$!
        exec 3<behind
        wait_for [ -s big ]
        if [ $spill = 0 ]; then wait_for has_written; else wait_for are_gone "$(cat big)"; fi
        : >go
        head -c $bytes <&3 | cmp - <(echo first; seq $most) ||
            fail "behind a slow job, --spill=$spill"
        : >drained
        wait $run
        is "behind a slow job, --spill=$spill: status" 0 $?
        exec 3<&-
        echo "peak with --spill=$spill: $(cat peak) KiB"
        [ "$(cat peak)" -lt $((24 * 1024)) ] || fail "--spill=$spill: $(cat peak) KiB"
    done
    "$leat" map -j2 -s 'if [ "$1" != 1 ]; then head -c 100000000 /dev/zero >&2
        else sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p" /proc/$PPID/status; fi' \
        ::: 2 3 1 2>/dev/null >"$out/got"
    echo "peak: $(cat "$out/got") KiB"
    [ "$(cat "$out/got")" -lt $((24 * 1024)) ] || fail "memory: $(cat "$out/got") KiB"
    # A long tag before each of many short lines, which come in one piece.
    map -j1 --tag -s 'if [ "$1" != peak ]
        then yes "" | dd bs=16K count=1 iflag=fullblock status=none
        else sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p" /proc/$PPID/status; fi' \
        ::: "$(printf '%04000d' 0)" peak >tagged
    is 'a long tag: bytes' $((16384 * 4002)) "$(head -n 16384 tagged | wc -c)"
    peak=$(tail -n 1 tagged | cut -f 2)
    rm tagged
    echo "peak with a long tag: $peak KiB"
    [ "$peak" -lt $((24 * 1024)) ] || fail "a long tag: $peak KiB"
fi

# the reader goes
yes | map echo 2>"$out/err" | head -n 2 >"$out/got"
is 'SIGPIPE' 141 "${PIPESTATUS[1]}"
is 'SIGPIPE: no message' '' "$(cat "$out/err")"
yes | map --dry-run echo 2>"$out/err" | head -n 2 >"$out/got"
is 'SIGPIPE in a dry run' 141 "${PIPESTATUS[1]}"
is 'SIGPIPE in a dry run: no message' '' "$(cat "$out/err")"
map --dry-run echo ::: a >/dev/full 2>"$out/err"
is 'a dry run to a full device: status' 2 $?
is 'a dry run to a full device: one message' 1 "$(grep -c 'No space left' "$out/err")"
seq 3000 | map -s 'echo >>ran; sleep 0.05; echo' 2>"$out/err" | head -n 1 >"$out/got"
[ "$(wc -l <ran)" -lt 3000 ] || fail 'it ran on without a reader'
map echo ::: a >/dev/full 2>"$out/err"
is 'a full device: status' 2 $?
grep -q 'No space left' "$out/err" || fail 'a full device: message'
map echo ::: a >&- 2>"$out/err"
is 'a closed output: status' 2 $?
map -l printf x ::: a >/dev/full 2>"$out/err"
is 'a full device, and a line without an end: status' 2 $?
mkfifo unread
{ map -l -s 'until [ -e left ]; do sleep 0.02; done; printf x' ::: 1 >unread; echo $? >status; } &
: <unread
: >left
wait_for [ -s status ]
is 'SIGPIPE, and a line without an end' 141 "$(cat status)"
map -s 'echo >>ran.2; sleep 0.05; echo >&2' < <(seq 3000) 2>&1 | head -n 1 >"$out/got"
is 'SIGPIPE of errors in the same pipe' 141 "${PIPESTATUS[0]}"
[ "$(wc -l <ran.2)" -lt 3000 ] || fail 'it ran on without a reader of errors'
yes | map -j1 -v true 2>&1 | head -n 1 >"$out/got"
is 'SIGPIPE of --verbose in the same pipe' 141 "${PIPESTATUS[1]}"
rm left
map -s 'until [ -e left ]; do sleep 0.02; done; echo >&2; echo "$1"' ::: 1 2 >"$out/got" 2>unread &
: <unread
: >left
wait $!
is 'errors without a reader in another pipe: status' 2 $?
is 'errors without a reader in another pipe: output' '1 2' "$(xargs <"$out/got")"
map -l -s 'printf x >&2' ::: a 2>/dev/full
is 'errors to a full device, and a line without an end: status' 2 $?
map -v true ::: a 2>/dev/full
is 'a full standard error for --verbose' 2 $?
map -s 'echo a; echo b >&2' ::: 1 >"$out/got" 2>/dev/full
is 'errors to a full device: status' 2 $?
is 'errors to a full device: output' a "$(cat "$out/got")"

# a limit of files, which the output that waits reaches
job='[ "$1" != 1 ] || sleep 0.5; head -c 10000000 /dev/zero'
(ulimit -f 8 && exec "$leat" map -j3 -s "$job" ::: 1 2 3) 2>"$out/err" | wc -c >"$out/got"
is 'a limit of files: bytes' 30000000 "$(cat "$out/got")"

finish
