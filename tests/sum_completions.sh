#!/usr/bin/env bash
# The completions for bash, zsh and fish have exactly the options and digests of the command.
. "$(dirname "$0")/sum_common.bash"

files=$LEAT_SOURCE_DIR/cmd/leat/completions

# getopt's options, which it lists because an empty name abbreviates them all; and those of --help.
"$leat" sum --= 2>&1 | head -n 1 | grep -oE "'--[a-z0-9-]+'" | tr -d "'" | sort >"$out/options"
[ "$(wc -l <"$out/options")" -gt 20 ] || fail 'few options'
"$leat" sum --help | sed -n '/^  /p' >"$out/help"
grep -oE -- '--[a-z][a-z0-9-]+' "$out/help" | sort -u >"$out/got"
same '--help' "$out/options" "$out/got"
sed -n 's/^  \(-[a-zA-Z]\), --.*/\1/p' "$out/help" | sort >"$out/letters"
sed -nE 's/^ .* (--[a-z0-9-]+)=.*/\1/p' "$out/help" | sort >"$out/valued"
sort "$out/options" "$out/letters" >"$out/all"
"$leat" sum -a none 2>&1 | sed -n "s/^  - '\(.*\)'/\1/p" | sort >"$out/digests"

# zsh and fish: the options in the files.
grep -oE -- "[']?(\(|\*)?--[a-z0-9-]+(=|\[)" "$files/_leat" |
    grep -oE -- '--[a-z0-9-]+' >"$out/found"
grep -oE -- '\{-[a-zA-Z]\+?,--[a-z0-9-]+=?\}' "$files/_leat" | tr -d '{}+=' |
    tr , '\n' >>"$out/found"
sort -u "$out/found" >"$out/got"
same 'zsh: options' "$out/all" "$out/got"
grep -oE -- '--[a-z0-9-]+=' "$files/_leat" | tr -d = | sort -u >"$out/got"
same 'zsh: options with a value' "$out/valued" "$out/got"
sed -n 's/.*_values -s , digest //p' "$files/_leat" | tr ' ' '\n' | sort >"$out/got"
same 'zsh: digests' "$out/digests" "$out/got"

grep '^__leat_sum' "$files/leat.fish" >"$out/fish"
sed -nE 's/.* -l ([a-z0-9-]+) .*/--\1/p' "$out/fish" >"$out/found"
sed -nE 's/.* -s ([a-zA-Z]) .*/-\1/p' "$out/fish" >>"$out/found"
sort -u "$out/found" >"$out/got"
same 'fish: options' "$out/all" "$out/got"
grep -E -- ' -(x|r) ' "$out/fish" | sed -E 's/.* -l ([a-z0-9-]+) .*/--\1/' | sort >"$out/got"
same 'fish: options with a value' "$out/valued" "$out/got"
sed -n 's/^set -l digests //p' "$files/leat.fish" | tr ' ' '\n' | sort >"$out/got"
same 'fish: digests' "$out/digests" "$out/got"

# bash: what it offers. completes WORD...: completions of the last word; words split as in bash
completes() {
    bash -c '. "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _leat
        printf "%s\n" "${COMPREPLY[@]}"' bash "$files/leat.bash" "$@" 2>&1 | sort
}
# offers WANTED WORD...
offers() {
    local wanted=$1
    shift
    is "bash: $*" "$wanted" "$(completes "$@" | xargs)"
}
completes leat sum - | tr -d = >"$out/got"
same 'bash: options' "$out/all" "$out/got"
completes leat sum -- | sed -n 's/=$//p' >"$out/got"
same 'bash: options with a value' "$out/valued" "$out/got"
completes leat sum -a '' >"$out/got"
same 'bash: digests' "$out/digests" "$out/got"
mkdir -p trees/a trees/b
: >trees/file
offers '--help --version sum' leat ''
offers sum leat s
offers '--strict --strict-tree=' leat sum --str
offers '--quiet' leat sum t --qu
offers '' leat other --qu
offers 'md5,sha1' leat sum -a md5,sha1
offers 'sha1,sha224,md5' leat sum -a sha1,sha224,m
offers 'sha1,sha224' leat sum -a sha1,sha22
offers 'xxh128 xxh64' leat sum --algorithm = xx
offers 'trees' leat sum -c l --strict-tree = tr
offers 'trees/a trees/b' leat sum --strict-tree trees/
offers '' leat sum --cache = tr
offers '' leat sum tr
is 'bash: what it is for' 'complete -o default -F _leat leat' \
    "$(bash -c '. "$1" && complete -p leat' bash "$files/leat.bash")"

# The shells find no error in the files, if they are installed.
bash -n "$files/leat.bash" || fail 'bash -n'
if command -v zsh >/dev/null; then
    zsh -n "$files/_leat" || fail 'zsh -n'
fi
if command -v fish >/dev/null; then
    fish -n "$files/leat.fish" || fail 'fish -n'
    fish -c 'source $argv[1]; complete -C"leat sum --"' "$files/leat.fish" | cut -f 1 |
        sort >"$out/got"
    same 'fish: what it offers' "$out/options" "$out/got"
fi

finish
