# The README's program compiles without a warning and prints 1, 2, 3.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
    "$LEAT_SOURCE_DIR/README.md" > "$work/program.c"
flags=(-std=gnu17 -Wall -Wextra -Werror -I "$LEAT_SOURCE_DIR/include")
[ -z "${LEAT_SANITIZE-}" ] || flags+=("-fsanitize=$LEAT_SANITIZE")
"${CC:-cc}" "${flags[@]}" "$work/program.c" "$LEAT_BUILD_DIR/libleat.a" -pthread -o "$work/program"
# All in it ends after a second: on a slow machine before it has printed all.
for _ in {1..20}; do
    said=$("$work/program") || true
    [ "$said" != $'1\n2\n3' ] || exit 0
done
echo "it says $said"
exit 1
