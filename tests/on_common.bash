# on_common.bash: machines that are this one, for the tests of `leat map --on`; sourced, not run.

. "$(dirname "${BASH_SOURCE[0]}")/map_common.bash"

# Stands for ssh: it writes its process number, which is then the worker's, to workers/NAME.
mkdir "$work/workers"
cat >"$work/rsh" <<'RSH'
#!/bin/sh
echo $$ >"$WORKERS/$1"
case $1 in
unknown*) echo "ssh: cannot resolve $1" >&2; exit 255 ;;
stranger) echo 'Welcome to the machine'; exec cat >/dev/null ;;
old) printf '\010\000\000\000\001\000\000\000\0000.0.1\000\001\000'; exec cat >/dev/null ;;
silent-tunnel) tail -f /dev/null & echo $! >"$WORKERS/held"; exit 255 ;;
silent) exec cat >/dev/null ;;
hangs*) exec tail -f /dev/null ;;
stays*) shift 2; "$LEAT_BIN" "$@"; exec tail -f /dev/null ;;
few) ulimit -n 14 ;;
fewer) ulimit -n 8 ;;
fewest) ulimit -n 5 ;;
tunnel*) tail -f /dev/null & echo $! >"$WORKERS/held" ;;
leaves) shift 2; exec 3<&0; "$LEAT_BIN" "$@" <&3 3<&- & echo $! >"$WORKERS/held"; exit 0 ;;
nohup) trap '' HUP ;;
slow*) until [ -e "$WORKERS/go" ]; do sleep 0.02; done ;;
esac
shift 2
exec "$LEAT_BIN" "$@"
RSH
chmod +x "$work/rsh"
export WORKERS=$work/workers LEAT_SSH=$work/rsh

# worker NAME: its process number
worker() {
    cat "$WORKERS/$1"
}

# A script's beginning: its job waits until there is a file `go`.
# shellcheck disable=SC2034
wait_here='echo $$ >>pids; until [ -e go ]; do sleep 0.02; done;'

# finished NAME STATUS: waits for the run whose process number is $run, and checks its status
finished() {
    local status
    wait "$run"
    status=$?
    is "$1: status" "$2" $status
    [ "$2" = $status ] || cat "$out/err"
}
