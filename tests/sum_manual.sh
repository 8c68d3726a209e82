#!/usr/bin/env bash
# The manual page, docs/leat-sum.md and --help have the same options.
. "$(dirname "$0")/sum_common.bash"

options_of() {
    grep -oE -- '--[a-z][a-z0-9-]+' | sort -u
}
"$leat" sum --help | sed -n '/^  /p' | options_of >"$out/wanted"
[ "$(wc -l <"$out/wanted")" -gt 20 ] || fail 'few options in --help'
sed 's/\\-/-/g' "$LEAT_SOURCE_DIR/docs/leat-sum.1" | grep '^\.B' | options_of >"$out/got"
same 'the manual page' "$out/wanted" "$out/got"
grep -vE -- '^--(binary|text|help|version)$' "$out/wanted" >"$out/most"
sed -n '/^## Options/,/^## Lines/p' "$LEAT_SOURCE_DIR/docs/leat-sum.md" | options_of >"$out/got"
same 'the guide' "$out/most" "$out/got"

# The command knows each of them; and each algorithm is in both documents.
while read -r option; do
    "$leat" sum "$option" </dev/null >"$out/got" 2>&1
    grep -q 'unrecognized' "$out/got" && fail "$option is unknown"
done <"$out/wanted"
"$leat" sum -a none 2>&1 | sed -n "s/^  - '\(.*\)'/\1/p" >"$out/algorithms"
while read -r algorithm; do
    grep -qE "(^|[ \`,])$algorithm([\`, .]|\$)" "$LEAT_SOURCE_DIR/docs/leat-sum.1" ||
        fail "$algorithm: not in the manual page"
    grep -q "\`$algorithm\`" "$LEAT_SOURCE_DIR/docs/leat-sum.md" ||
        fail "$algorithm: not in the guide"
done <"$out/algorithms"

# groff finds no error, if it is installed.
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$LEAT_SOURCE_DIR/docs/leat-sum.1" >"$out/got" 2>&1
    same 'groff' /dev/null "$out/got"
fi

finish
