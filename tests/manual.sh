#!/usr/bin/env bash
# The API manual and the man pages say what the headers say, name everything that is public, and are
# well formed.
set -u
export LC_ALL=C
source=$LEAT_SOURCE_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

command -v perl >/dev/null || { echo 'skipped: no perl'; exit 77; }

# ---- docs/api.md ----

"$source/scripts/manual" md >"$work/api.md" || fail 'the headers'
cmp -s "$work/api.md" "$source/docs/api.md" ||
    fail 'docs/api.md is not what the headers say: make manual'

# The folder of the sources may have a space in its name.
ln -s "$source" "$work/a folder"
"$work/a folder/scripts/manual" md | cmp -s - "$work/api.md" || fail 'from a folder with a space'

# Each error of a header's list is a separate item.
said=$(cat "$source"/include/leat/*.h | grep -cE '^ \*   -E[A-Z]+.*  ')
[ "$(grep -c '^- `-E' "$work/api.md")" -eq "$said" ] || fail 'an error is not an item of its list'

# Each link leads to a heading of this page, or a file.
sed -n '/^#/{s/^#* //;p}' "$work/api.md" | tr '[:upper:]' '[:lower:]' |
    sed 's/[^a-z0-9_ -]//g; s/ /-/g' | sort >"$work/anchors"
uniq -d "$work/anchors" >"$work/twice"
[ -s "$work/twice" ] && fail "two headings: $(cat "$work/twice")"
grep -oE '\]\(#[^)]*\)' "$work/api.md" | sed 's/^](#//; s/)$//' | sort -u >"$work/links"
[ "$(wc -l <"$work/links")" -gt 100 ] || fail 'few links in docs/api.md'
comm -13 "$work/anchors" "$work/links" >"$work/dead"
[ -s "$work/dead" ] && fail "links to nowhere: $(cat "$work/dead")"
while read -r file; do
    [ -e "$source/docs/$file" ] || fail "docs/api.md leads to $file"
done < <(grep -oE '\]\([^#)][^)]*\)' "$work/api.md" | sed 's/^](//; s/)$//' | sort -u)

# ---- everything public is there ----

man=$work/man
"$source/scripts/manual" man "$man" || fail 'the man pages'
if [ -e "$LEAT_BUILD_DIR/libleat.a" ]; then
    nm -g --defined-only "$LEAT_BUILD_DIR/libleat.a"
else
    nm -D --defined-only "$LEAT_BUILD_DIR/libleat.so"
fi 2>/dev/null | cat - <(nm -g --defined-only "$LEAT_BUILD_DIR/link/libleat-link.a" 2>/dev/null) |
    awk '$3 ~ /^leat_/ { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/exported"
[ "$(wc -l <"$work/exported")" -gt 100 ] || fail 'few functions in the library'

# What the library needs for itself is not.
perl -0777 -ne '
    while (m{^/\* For [^.:,;]* only\b(?:(?!\*/).)*\*/\n(.*?)\n\n}gms) {
        print "$_\n" for $1 =~ /^(?:#define |LEAT_API \w+ \**)(\w+)/gm;
    }' "$source"/include/leat/*.h | sort -u >"$work/internal"
[ "$(wc -l <"$work/internal")" -ge 3 ] || fail 'few names are for the library only'
while read -r name; do
    grep -qwF "$name" "$work/api.md" && fail "$name is in docs/api.md, and is for the library only"
done <"$work/internal"

# A function has a page.
comm -23 "$work/exported" "$work/internal" >"$work/functions"
while read -r name; do
    [ -e "$man/man3/$name.3" ] || fail "$name has no page"
done <"$work/functions"
echo '#include <leat/leat.h>' | "${CC:-cc}" -I "$source/include" -E -dM - |
    sed -nE 's/^#define ((LEAT|leat)_[A-Za-z0-9_]*[A-Za-z0-9])(\(.*|[[:space:]].*|$)/\1/p' |
    grep -vE '^LEAT_[A-Z]+_H$' | grep -vxFf "$work/internal" >"$work/macros"
[ "$(wc -l <"$work/macros")" -gt 40 ] || fail 'few macros in the headers'
# A macro has a page, or stands in that of its header.
while read -r name; do
    [ -e "$man/man3/$name.3" ] || grep -qwF -- "$name" "$man"/man7/*.7 || fail "$name has no page"
done <"$work/macros"

# No page names what does not exist.
sed -n 's/^static inline.* \(leat_[a-z_]*\)(.*/\1/p' \
    "$source"/include/leat/*.h | sort - "$work/functions" "$work/macros" >"$work/public"
for page in "$man"/man3/*.3; do
    name=${page##*/}
    grep -qxF "${name%.3}" "$work/public" || fail "${name%.3} has a page, and is not public"
done

# A file system that ignores case holds them all.
find "$man" -name '*.[37]' | tr '[:upper:]' '[:lower:]' | sort | uniq -d >"$work/twice"
[ -s "$work/twice" ] && fail "pages that differ only in case: $(cat "$work/twice")"
for name in LEAT_US LEAT_NOW LEAT_API LEAT_RECV errno; do
    [ -e "$man/man3/$name.3" ] || [ -e "$man/man7/$name.7" ] && fail "$name has a page of its own"
done

# ---- they are well formed ----

pages=()
for page in "$man"/man[37]/*.[37]; do
    if target=$(sed -n 's/^\.so //p' "$page") && [ -n "$target" ]; then
        [ -e "$man/$target" ] || fail "${page##*/} leads to $target"
        continue
    fi
    pages+=("$page")
    grep -q '^\.SH RETURN VALUE' "$page" || ! grep -qE '^.fBint(64_t)? leat_' "$page" ||
        fail "${page##*/} does not say what is returned"
    awk '/^\.SH NAME/ { getline; exit !/^[A-Za-z0-9_, ]+ \\- [^ ].*[^.]$/ }' "$page" ||
        fail "${page##*/} has a NAME that cannot be found"
done
LC_ALL=C grep -l '[^ -~]' "${pages[@]}" && fail 'not in ASCII'
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "${pages[@]}" 2>&1 | head -20 >"$work/wrong"
    [ -s "$work/wrong" ] && fail "groff: $(cat "$work/wrong")"
    groff -man -Tutf8 -P-cbou "$man/man3/leat_send.3" >"$work/page"
    for line in 'int leat_try_send(leat_chan *ch, const void *item);' \
        '-EPIPE when the channel is closed;' 'leat_recv(3)'; do
        tr -s ' \n' ' ' <"$work/page" | grep -qF -e "$line" ||
            fail "leat_send.3 does not show: $line"
    done
fi

# ---- a header that says too little is refused ----

refused() { # WHAT SAID SCRIPT-OF-SED FILE
    rm -rf "$work/tree"
    mkdir -p "$work/tree"
    cp -R "$source/scripts" "$source/include" "$source/README.md" "$work/tree"
    sed -i "$3" "$work/tree/include/leat/$4"
    if "$work/tree/scripts/manual" check 2>"$work/said"; then
        fail "accepts $1"
    fi
    grep -qF -e "$2" "$work/said" || fail "of $1 it says: $(cat "$work/said")"
}
refused 'a function without a comment' 'time.h: leat_mute has no comment' \
    '/^#endif/i\
LEAT_API void leat_mute(void);\
' time.h
refused 'a macro without a comment' 'time.h: LEAT_MUTE has no comment' \
    '/^#endif/i\
#define LEAT_MUTE(x) (x)\
' time.h
refused 'an initialiser of nothing' 'time.h: LEAT_MUTE does not say what it initialises' \
    '/^#endif/i\
/* Makes one. */\
#define LEAT_MUTE(x) { (x) }\
' time.h
refused 'a type without a comment' 'chan.h: leat_buffer has no comment' \
    '/^typedef enum leat_buffer/i\
\
' chan.h
refused 'a function that does not say what it returns' \
    'time.h: leat_mute does not say what it returns' \
    '/^#endif/i\
/* Says nothing. */\
LEAT_API int leat_mute(void);\
' time.h

[ "$failures" -eq 0 ] || echo "$failures failed"
exit $((failures > 0))
