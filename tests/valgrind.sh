#!/usr/bin/env bash
# valgrind follows the switches between stacks: no error, no warning about stacks, no leak.
set -euo pipefail

[ -z "${LEAT_SANITIZE-}" ] || exit 77
command -v valgrind >/dev/null || exit 77
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
valgrind --log-file="$log" --error-exitcode=99 --leak-check=full \
    --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect "$LEAT_PROGRAMS/modest" || status=$?
# Some versions of valgrind cannot read the debug information of newer compilers.
! grep -q 'debuginfo reader' "$log" || exit 77
if [ $status != 0 ] || grep -qi 'switching stacks\|warning:' "$log"; then
    cat "$log"
    exit 1
fi
