#!/usr/bin/env bash
# The places of a call stack in a dump are what addr2line wants, as docs/watch.md says, in a program
# that is position-independent and in one that is not.
set -euo pipefail

[ -z "${LEAT_SANITIZE-}" ] || exit 77
command -v addr2line >/dev/null || exit 77
library=$LEAT_BUILD_DIR/libleat.a
[ -f "$library" ] || exit 77

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0
cd "$work"
failed=0
for flags in '-fPIE -pie' '-fno-pie -no-pie'; do
    # shellcheck disable=SC2086 # they are words
    "$CC" -g $flags -I"$LEAT_SOURCE_DIR/include" "$LEAT_SOURCE_DIR/tests/programs/watched.c" \
        "$library" -lpthread -o watched
    # On a loaded machine a worker may be too late to answer; then there are no stacks.
    for _ in {1..50}; do
        LEAT_WATCH=stacks LEAT_DEADLOCK=abort timeout 60 ./watched deadlock 2>dump && exit 1
        grep -q 'did not answer' dump || break
    done
    places=$(sed -n 's/^ *at watched+//p' dump | cut -d ' ' -f 1 | addr2line -fe watched)
    # Two tasks; a place is a line with the function and one with the file.
    [ "$(grep -cx 'receives' <<<"$places")" = 2 ] ||
        { echo "$flags: $places"; cat dump; failed=1; }
done 2>&1
exit $failed
