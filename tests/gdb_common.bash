# gdb_common.bash: what the tests with gdb share. `program` is what they debug. A test is skipped
# with a sanitizer's library, and where gdb may not trace, as in some containers.
# shellcheck disable=SC2034 # the tests use `failed` and `script`

[ -z "${LEAT_SANITIZE-}" ] || exit 77
command -v gdb >/dev/null || exit 77
failed=0

# debug COMMAND… [-- FILE…]: what gdb prints for the commands, for `program` or for these files. In
# a container gdb may be forbidden to fix the program's addresses, and would complain.
debug() {
    local arguments=(-nx -batch -ex 'set confirm off' -ex 'set pagination off' -ex 'set width 0'
        -ex 'set debuginfod enabled off' -ex 'set breakpoint pending on'
        -ex 'set disable-randomization off')
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        arguments+=(-ex "$1")
        shift
    done
    if [ $# -gt 0 ]; then shift; else set -- "${program:?}"; fi
    DEBUGINFOD_URLS='' timeout 120 gdb "${arguments[@]}" "$@" 2>&1
}

probe=$(debug 'break main' 'run' 'python print(40 + 2)')
grep -q 'Breakpoint 1, ' <<<"$probe" || exit 77

# For tests of leat-gdb.py: sets `script`, the command that loads it.
load_script() {
    grep -qx 42 <<<"$probe" || exit 77
    script="source $LEAT_SOURCE_DIR/scripts/leat-gdb.py"
}

# expect NAME OUTPUT PATTERN…: no backtrace is broken, and the patterns occur in this order.
expect() {
    local name=$1 output=$2 pattern rest
    shift 2
    rest=$(tr '\n' ' ' <<<"$output")
    if grep -q 'corrupt stack\|Backtrace stopped\|Cannot access memory\|Error' <<<"$output"; then
        echo "$name: something is broken: $output"
        failed=1
    fi
    for pattern; do
        if ! grep -q -- "$pattern" <<<"$rest"; then
            echo "$name: no '$pattern' in $output"
            failed=1
            return
        fi
        rest=${rest#*"$pattern"}
    done
}
