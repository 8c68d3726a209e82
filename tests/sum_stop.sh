#!/usr/bin/env bash
# Early ends: signals, an output that fails, --fail-fast. No half line, no hang, the right status.
. "$(dirname "$0")/sum_common.bash"

mkdir many
perl -e 'for (1000 .. 2999) {
    open(my $file, ">", "many/$_") or die;
    seek($file, 2 * int(rand(32768)), 0);
    print $file "$_\n";
}'
"$leat" sum many >"$out/all"
is 'whole: status' 0 $?

# stopped SIGNAL SECONDS ARGUMENT...: prints the status of a run that gets the signal after a time
stopped() {
    local signal=$1 seconds=$2
    shift 2
    timeout -k 20 --preserve-status -s "$signal" "$seconds" "$leat" sum "$@"
}

# Blocked in a wait that only the signal can end.
mkfifo fifo
exec 3<>fifo
for case in 'INT 130' 'TERM 143' 'HUP 129'; do
    signal=${case% *} status=${case#* }
    for arguments in 'fifo' '-' '-c fifo' '-c' '-j 3 many/1000 fifo - many' '/dev/zero' '--tag'; do
        # shellcheck disable=SC2086
        stopped "$signal" 0.1 $arguments <&3 >"$out/got" 2>"$out/got.err"
        is "$signal, $arguments: status" "$status" $?
        same "$signal, $arguments: no message" /dev/null "$out/got.err"
    done
done
exec 3<&-
# A FIFO without a writer.
stopped INT 0.1 fifo
is 'no writer: status' 130 $?

# Stopped at any moment: whole lines, and the first ones.
for seconds in 0.005 0.01 0.02 0.03 0.05 0.08; do
    stopped INT "$seconds" many >"$out/got" 2>"$out/got.err"
    case $? in
    0 | 130) ;;
    *) fail "interrupted after $seconds: status" ;;
    esac
    head -n "$(wc -l <"$out/got")" "$out/all" >"$out/wanted"
    same "interrupted after $seconds: lines" "$out/wanted" "$out/got"
    same "interrupted after $seconds: messages" /dev/null "$out/got.err"
done

# Blocked on an output without a reader.
mkfifo full
exec 4<>full
long=$PWD/$(printf 'x%.0s' {1..200})
mkdir "$long"
cp many/1* "$long"
stopped INT 0.5 "$long" >full 2>"$out/got.err"
is 'output stuck: status' 130 $?
stopped INT 0.1 -c <(cat "$out/all" "$out/all" "$out/all") >full
is 'output stuck in a check: status' 130 $?
exec 4<&-

# In a list or a file of names of a terabyte, which is one line or many empty ones; also on a
# terminal, where the files are counted.
truncate -s 1T huge && {
    stopped INT 0.3 -c huge 2>"$out/got.err"
    is 'a huge list: status' 130 $?
    stopped INT 0.3 --files0-from=huge >"$out/got" 2>&1
    is 'a huge file of names: status' 130 $?
    if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
        check="timeout --foreground -k 20 --preserve-status -s INT 0.3 '$leat' sum -c huge"
        script -qec "$check; echo \$? >'$out/status'" /dev/null </dev/null >"$out/got"
        is 'a huge list on a terminal: status' 130 "$(cat "$out/status")"
    fi
    rm huge
}

# A signal that was ignored at the start stays ignored.
(
    trap '' INT
    "$leat" sum many >"$out/got" &
    kill -INT $!
    wait $!
)
is 'ignored: status' 0 $?
same 'ignored: lines' "$out/all" "$out/got"

# If the first signal cannot end it, the second does: another process keeps a lease on the file.
mkdir leased
echo 1 >leased/file
perl -e '
    open(my $file, "+<", "leased/file") or die;
    $SIG{IO} = sub { open(my $asked, ">", "asked") };
    fcntl($file, 1024, 1) or exit 1; # F_SETLEASE, F_WRLCK
    open(my $ready, ">", "ready");
    my $end = time + 100;
    sleep 1 while time < $end' 2>/dev/null &
holder=$!
until [ -e ready ] || ! kill -0 "$holder" 2>/dev/null; do
    sleep 0.05
done
if [ -e ready ]; then
    "$leat" sum leased >"$out/got" 2>&1 &
    until [ -e asked ] || ! kill -0 $!; do
        sleep 0.05
    done
    kill -TERM $!
    sleep 0.3
    kill -0 $! || fail 'the lease kept nobody waiting'
    kill -TERM $!
    wait $!
    is 'a second signal: status' 143 $?
    kill "$holder"
fi
wait "$holder" 2>/dev/null

# An output that is full.
"$leat" sum many >/dev/full 2>"$out/got.err"
is 'full: status' 1 $?
is 'full: message' 'leat sum: write error: No space left on device' "$(cat "$out/got.err")"
"$leat" sum -c "$out/all" >/dev/full 2>"$out/got.err"
is 'full in a check: status' 1 $?
"$leat" sum many >&- 2>"$out/got.err"
is 'closed: status' 1 $?
is 'closed: message' 'leat sum: write error: Bad file descriptor' "$(cat "$out/got.err")"
# unread HOW ARGUMENT...: prints the status of a run whose output has no reader any more; HOW is the
# inherited action of SIGPIPE
mkfifo "$out/unread"
unread() {
    exec 5<>"$out/unread" 6>"$out/unread" 5>&-
    env "--$1-signal=PIPE" "$leat" sum "${@:2}" >&6 6>&- 2>"$out/got.err"
    echo $?
}
for arguments in 'many many many' "-c $out/all" '--json many' '--cache=cache many' --help; do
    # shellcheck disable=SC2086
    is "no reader, $arguments: status" 141 "$(unread default $arguments)"
    same "no reader, $arguments: no message" /dev/null "$out/got.err"
done
[ -s cache ] || fail 'no reader: no cache is written'
is 'no reader, SIGPIPE ignored: status' 1 "$(unread ignore many)"
is 'no reader, SIGPIPE ignored' 'leat sum: write error: Broken pipe' "$(cat "$out/got.err")"
env --default-signal=PIPE "$leat" sum many many many | head -n 1 >"$out/got"
is 'a reader of one line: status' 141 "${PIPESTATUS[0]}"
is 'a reader of one line' "$(head -n 1 "$out/all")" "$(cat "$out/got")"
"$leat" sum nosuch 2>&-
is 'no messages: status' 1 $?
"$leat" sum - <&- 2>"$out/got.err"
is 'no input: status' 1 $?
printf 'leat sum: %s: Bad file descriptor\n' - 'standard input' >"$out/wanted"
same 'no input: messages' "$out/wanted" "$out/got.err"

# --fail-fast: all lines before the error, the error, and no more.
head -n 700 "$out/all" >"$out/wanted"
echo 'leat sum: nosuch: No such file or directory' >>"$out/wanted"
paths=(many/*)
for jobs in 1 2 9; do
    "$leat" sum --fail-fast -j "$jobs" "${paths[@]:0:700}" nosuch "${paths[@]:700}" gone \
        >"$out/got" 2>&1
    is "--fail-fast -j $jobs: status" 1 $?
    same "--fail-fast -j $jobs" "$out/wanted" "$out/got"
done
{
    head -n 40 "$out/all"
    echo "$(printf '%032d' 0)  many/1000"
    cat "$out/all"
} >list
for i in {1000..1039}; do
    echo "many/$i: OK"
done >"$out/wanted"
echo 'many/1000: FAILED' >>"$out/wanted"
"$leat" sum --fail-fast -c list >"$out/got" 2>&1
is '--fail-fast -c: status' 1 $?
same '--fail-fast -c' "$out/wanted" "$out/got"

# Without --fail-fast it does not stop at the first error.
"$leat" sum "${paths[@]:0:700}" nosuch "${paths[@]:700}" >"$out/got" 2>"$out/got.err"
is 'going on: status' 1 $?
same 'going on' "$out/all" "$out/got"

finish
