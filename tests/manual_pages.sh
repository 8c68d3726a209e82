#!/usr/bin/env bash
# Of each command, the manual page, the guide and --help have the same options.
. "$(dirname "$0")/options_common.bash"

docs=$LEAT_SOURCE_DIR/docs

options_of() {
    grep -oE -- '--[a-z][a-z0-9-]+' | sort -u
}

# fits_screen COMMAND: its help, with the prompt below it, on 80 columns and 40 lines.
fits_screen() {
    "$leat" "$1" --help >"$out/got"
    is "$1: --help: lines that are too long" '' "$(grep -E '.{81}' "$out/got")"
    [ "$(wc -l <"$out/got")" -lt 40 ] || fail "$1: --help has $(wc -l <"$out/got") lines"
}

# has_options COMMAND: and the command knows each of them. leat look and leat worker have no
# guide of their own.
has_options() {
    local page=$docs/leat-$1.1 option
    read_options "$1"
    sed 's/\\-/-/g' "$page" | sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' | grep '^\.B' | options_of \
        >"$out/got"
    same "$1: the manual page" "$out/options" "$out/got"
    sed 's/\\-/-/g' "$page" | sed -nE 's/^\.BR (-[a-zA-Z0-9]) .*--.*/\1/p' | sort >"$out/got"
    same "$1: letters in the manual page" "$out/letters" "$out/got"
    # The guide leaves out what each command has, and what coreutils' programs have.
    grep -vE -- '^--(binary|text|help|version)$' "$out/options" >"$out/most"
    if [ -e "$docs/leat-$1.md" ]; then
        sed -n '/^## Options/,/^## [^O]/p' "$docs/leat-$1.md" | grep '^| `-' | sed 's/ | .*//' |
            options_of >"$out/got"
        same "$1: the guide" "$out/most" "$out/got"
    fi
    while read -r option; do
        "$leat" "$1" "$option" </dev/null >"$out/got" 2>&1
        grep -q 'unrecognized' "$out/got" && fail "$1: $option is unknown"
    done <"$out/options"

    # groff finds no error, if it is installed.
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww -z "$page" >"$out/got" 2>&1
        same "$1: groff" /dev/null "$out/got"
    fi
}

has_options sum
has_options map
has_options look
has_options worker
fits_screen map
fits_screen worker

if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$docs/leat.1" >"$out/got" 2>&1
    same 'leat: groff' /dev/null "$out/got"
fi

# Each algorithm of leat sum is in both documents.
"$leat" sum -a none 2>&1 | sed -n 's/.*it takes //; s/, \| or /\n/g; 1p' >"$out/algorithms"
[ -s "$out/algorithms" ] || fail 'no algorithms'
while read -r algorithm; do
    grep -qE "(^|[ \`,])$algorithm([\`, .]|\$)" "$docs/leat-sum.1" ||
        fail "$algorithm: not in the manual page"
    grep -q "\`$algorithm\`" "$docs/leat-sum.md" || fail "$algorithm: not in the guide"
done <"$out/algorithms"

# Each placeholder of leat map, too.
for placeholder in '{}' '{.}' '{/}' '{//}' '{/.}' '{1}' '{#}' '{%}'; do
    is "$placeholder" 0 "$("$leat" map --dry-run echo "$placeholder" ::: a >/dev/null; echo $?)"
    for page in leat-map.1 leat-map.md; do
        grep -qF "$placeholder" "$docs/$page" || fail "$placeholder: not in $page"
    done
done

finish
