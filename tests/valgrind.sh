#!/usr/bin/env bash
# valgrind follows the switches: no error, no warning about stacks, nothing lost.
set -euo pipefail

[ -z "${LEAT_SANITIZE-}" ] || exit 77
command -v valgrind >/dev/null || exit 77
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
valgrind --log-file="$log" --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect "$LEAT_PROGRAMS/modest" || status=$?
# Some versions cannot read what a newer compiler writes for debuggers.
! grep -q 'debuginfo reader' "$log" || exit 77
if [ $status != 0 ] || grep -qi 'switching stacks\|warning:' "$log"; then
    cat "$log"
    exit 1
fi
