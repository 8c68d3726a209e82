# look_common.bash: functions that the tests of `leat look` share; sourced, not run.

. "$(dirname "${BASH_SOURCE[0]}")/command_common.bash"
command -v python3 >/dev/null || skip 'there is no python3'

server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
at=unix:$work/sock
unset LEAT_LOOK LEAT_LOOK_TOKEN NO_COLOR

# answer MODE NUMBER: what the server answers from now on; look_server.py has the modes.
answer() {
    echo "$1 $2" >"$out/mode.new"
    mv "$out/mode.new" "$out/mode" # never half a mode
}

serve() {
    python3 "$LEAT_SOURCE_DIR/tests/look_server.py" "$work/sock" "$out/mode" 2>"$out/server" &
    server=$!
    wait_for test -S "$work/sock"
}

end_server() {
    kill "$server"
    wait "$server" 2>/dev/null
    server=
    rm -f "$work/sock"
}

# look ARGUMENT...: runs leat look at the server; no test waits longer than two minutes for it.
look() {
    timeout -k 5 120 "$leat" look "$@" "$at"
}
