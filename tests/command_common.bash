# command_common.bash: functions that the tests of the command share; sourced, not run.

set -u
export LC_ALL=C
# In a sanitized or harsh build more of the same shows nothing new, and takes minutes.
[ -z "${SLOW_BUILD-}" ] || unset LEAT_LONG
leat=${LEAT_BIN:?LEAT_BIN is the command leat}
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
out=$work/.out
mkdir "$out" tree
cd tree || exit 1

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

finish() {
    [ "$failures" -eq 0 ] || echo "$failures failed"
    exit $((failures > 0))
}

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

# same WHAT WANTED-FILE GOT-FILE
same() {
    cmp -s "$2" "$3" && return
    fail "$1"
    diff <(cat -A "$2") <(cat -A "$3") | head -n 20
}

# wait_for COMMAND...: until it succeeds; a minute at most.
wait_for() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { fail "waited a minute for $*"; return 1; }
        sleep 0.02
    done
}
