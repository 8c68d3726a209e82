#!/usr/bin/env bash
# The manual as a site (`make docs`): it has the pages, the anchors and the index that readers need,
# and a link that leads nowhere is refused by name. The picture of performance is what its tables
# say.
set -u
export LC_ALL=C.UTF-8
source=$LEAT_SOURCE_DIR
for needed in cmark-gfm mandoc python3 perl; do
    command -v $needed >/dev/null || { echo "skipped: no $needed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
site=$work/site
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# has PAGE TEXT...
has() {
    local page=$1 text
    shift
    for text; do
        grep -qF -e "$text" "$site/$page" || fail "$page does not have: $text"
    done
}

"$source/scripts/site/build" "$site" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }

# ---- pages and anchors ----

for file in "$source"/docs/*.md; do
    name=${file##*/}
    [ -s "$site/${name%.md}.html" ] || fail "$name has no page"
done
for file in "$source"/docs/*.1; do
    [ -s "$site/${file##*/}.html" ] || fail "${file##*/} has no page"
done
for file in "$source"/include/leat/*.h; do
    name=$(basename "$file" .h)
    [ "$name" = leat ] || [ -s "$site/api-$name.html" ] || fail "$name.h has no page"
done
has index.html '<h1 id="leat">' 'id="how-fast-it-is"' 'href="leat-sum.html">leat sum</a>' \
    'href="source/examples/index.html"' 'src="performance.svg"'
has changelog.html '<h1 id="changes">'
has api-chan.html 'id="leat_send-leat_send_until-leat_try_send"' 'id="leat_try_send"' \
    'href="api-scope.html#leatscopeh"' '>leat_chan_unref</code></a>'
has channels.html 'href="api-chan.html#leat_send"'
has leat-map.1.html 'id="retries"' 'href="leat-sum.1.html"'
has sim.html 'href="source/examples/hunt.c.html"'
has source/examples/hunt.c.html 'href="../../api-sim.html' 'href="../../style.css"'

# Nothing is fetched from elsewhere.
grep -rlE --include='*.html' '<(link|script|img)[^>]* (src|href)="([a-z]+:)?//' "$site" >"$work/far"
[ -s "$work/far" ] && fail "pages that fetch: $(cat "$work/far")"
grep -nE 'url\(|@import' "$site/style.css" && fail 'the style fetches'

# ---- the index ----

has search-index.js '[0,"leat_send",' '[1,"LEAT_AWAIT_SEND",' '[2,"leat_chan_spec",' \
    '"leat/chan.h"' '[7,"Options for CMake",' '"--retries=N"'
sed -n 's/^\[0,"\(leat_[a-z_0-9]*\)".*/\1/p' "$site/search-index.js" | sort >"$work/functions"
uniq -d "$work/functions" | grep . && fail 'functions that are in the index twice'
for page in "$source"/include/leat/*.h; do
    sed -nE 's/^LEAT_API .*[ *](leat_[a-z_0-9]+)\(.*/\1/p' "$page"
done | sort -u >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 100 ] || fail 'few functions in the headers'
# Some are declared for the library only, and have no place in the manual.
comm -13 "$work/functions" "$work/declared" | while read -r name; do
    grep -qw "$name" "$source/docs/api.md" && echo "$name"
done >"$work/missing"
[ -s "$work/missing" ] && fail "not in the index: $(cat "$work/missing")"

# ---- links that lead nowhere ----

mkdir "$work/tree"
(cd "$source" && cp -R README.md CHANGELOG.md CONTRIBUTING.md docs examples include link scripts \
    "$work/tree")

# A copy, so that the next test has documents without them.
cp -R "$work/tree" "$work/wrong"
# refused FILE TEXT SAID: with the text at the file's end
refused() {
    printf '\n%s\n' "$2" >>"$work/wrong/$1"
    echo "docs: $3"
}
{
    refused docs/channels.md '[x](nothing.md)' \
        'docs/channels.md: a link of channels.html leads nowhere: nothing.md'
    refused docs/channels.md '[x](flow.md#nothing)' \
        'docs/channels.md: a link of channels.html leads to no heading: flow.html#nothing'
    refused README.md '[x](#nothing)' \
        'README.md: a link of index.html leads to no heading: #nothing'
    refused README.md '[x](docs/api.md#leat_nothing)' \
        'README.md: a link of index.html leads to no heading: api.html#leat_nothing'
    refused CHANGELOG.md '[x](examples/nothing.c)' \
        'CHANGELOG.md: a link of changelog.html leads nowhere: examples/nothing.c'
    refused docs/watch.md '![x](nothing.png)' \
        'docs/watch.md: a link of watch.html leads nowhere: nothing.png'
} | sort >"$work/wanted"
"$work/wrong/scripts/site/build" "$work/wrong/site" >"$work/said" 2>&1 && fail 'accepts wrong links'
sort "$work/said" | diff "$work/wanted" - >"$work/diff" ||
    fail "of wrong links: $(cat "$work/diff")"

# A new document has a page, in the list of pages too; and a file that a document leads to.
printf '# A new one\n\n[a text](../examples/upper.txt)\n' >"$work/tree/docs/new.md"
"$work/tree/scripts/site/build" "$site" >"$work/said" 2>&1 || fail "new.md: $(cat "$work/said")"
has flow.html '<a href="new.html">A new one</a>'
has new.html 'href="source/examples/upper.txt.html"'

# A folder with other things stays as it is.
mkdir "$work/mine"
touch "$work/mine/letter"
"$work/tree/scripts/site/build" "$work/mine" 2>"$work/said" && fail 'writes over a folder'
[ -e "$work/mine/letter" ] || fail 'a letter is gone'

# ---- the picture of performance ----

"$source/bench/run" --picture >"$work/picture" || fail 'no picture'
cmp -s "$work/picture" "$source/docs/performance.svg" ||
    fail 'docs/performance.svg is not what its tables say: bench/run --picture'
python3 - "$work/picture" <<'EOF' || fail 'the picture'
import re, sys
import xml.etree.ElementTree as ET
text = open(sys.argv[1], encoding="utf-8").read()
picture = ET.fromstring(text)
assert "prefers-color-scheme:dark" in text
letters = [float(size) for size in re.findall(r"font(?:-size)?:(?:[a-z0-9]+ )*?([\d.]+)px", text)]
least = min(letters) * 328 / float(picture.get("width"))
assert least >= 10, f"at 360 px the letters have {least} px"
EOF

[ "$failures" -eq 0 ] || echo "$failures failed"
exit $((failures > 0))
