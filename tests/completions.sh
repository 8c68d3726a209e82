#!/usr/bin/env bash
# The completions for bash, zsh and fish have exactly the options of the commands, and the digests
# of leat sum.
. "$(dirname "$0")/options_common.bash"

files=$LEAT_SOURCE_DIR/cmd/leat/completions
"$leat" sum -a none 2>&1 | sed -n 's/.*it takes //; s/, \| or /\n/g; 1p' | sort >"$out/digests"

# ---- zsh and fish: what is in the files ----

zsh_has() {
    sed -n "/^_leat_$1() {/,/^}/p" "$files/_leat" >"$out/zsh"
    grep -oE -- "[']?(\(|\*)?--[a-z0-9-]+(=|\[)" "$out/zsh" | grep -oE -- '--[a-z0-9-]+' \
        >"$out/found"
    grep -oE -- '\{-[a-zA-Z0-9]\+?,--[a-z0-9-]+=?\}' "$out/zsh" | tr -d '{}+=' | tr , '\n' \
        >>"$out/found"
    sort -u "$out/found" >"$out/got"
    same "zsh: $1: options" "$out/all" "$out/got"
    grep -oE -- '--[a-z0-9-]+=-' "$out/zsh" | sed 's/=-$//' | sort -u >"$out/got"
    same "zsh: $1: options that may have a value" "$out/optional" "$out/got"
    grep -oE -- '--[a-z0-9-]+=([^-]|$)' "$out/zsh" | sed 's/=.*//' | sort -u \
        >"$out/got"
    same "zsh: $1: options with a value" "$out/valued" "$out/got"
}

fish_has() {
    grep -E "^__leat_(option )?$1 " "$files/leat.fish" >"$out/fish"
    sed -nE 's/.* -l ([a-z0-9-]+) .*/--\1/p' "$out/fish" >"$out/found"
    sed -nE 's/.* -s ([a-zA-Z0-9]) .*/-\1/p' "$out/fish" >>"$out/found"
    sort -u "$out/found" >"$out/got"
    same "fish: $1: options" "$out/all" "$out/got"
    grep -E -- ' -(x|r) ' "$out/fish" | sed -E 's/.* -l ([a-z0-9-]+) .*/--\1/' | sort >"$out/got"
    same "fish: $1: options with a value" "$out/valued" "$out/got"
    sed -nE 's/.* -l ([a-z0-9-]+) -f -a .*/--\1/p' "$out/fish" | sort >"$out/got"
    same "fish: $1: options that may have a value" "$out/optional" "$out/got"
}

# ---- bash: what it offers ----

# completes WORD...: completions of the last word; words split as in bash
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

bash_has() {
    completes leat "$1" - | tr -d = | sort -u >"$out/got"
    same "bash: $1: options" "$out/all" "$out/got"
    completes leat "$1" -- | sed -n 's/=$//p' | sort >"$out/got"
    sort "$out/valued" "$out/optional" >"$out/wanted"
    same "bash: $1: options with a value" "$out/wanted" "$out/got"
    completes leat "$1" -- | grep -v '=$' >"$out/got"
    comm -23 "$out/options" "$out/valued" >"$out/wanted"
    same "bash: $1: options without" "$out/wanted" "$out/got"
}

for command in sum map look worker; do
    read_options $command
    zsh_has $command
    fish_has $command
    bash_has $command
done

sed -n 's/.*_values -s , digest //p' "$files/_leat" | tr ' ' '\n' | sort >"$out/got"
same 'zsh: digests' "$out/digests" "$out/got"
sed -n 's/^set -l digests //p' "$files/leat.fish" | tr ' ' '\n' | sort >"$out/got"
same 'fish: digests' "$out/digests" "$out/got"
completes leat sum -a '' >"$out/got"
same 'bash: digests' "$out/digests" "$out/got"

mkdir -p trees/a trees/b
: >trees/file
offers '--help --version look map sum worker' leat ''
offers sum leat s
offers map leat m
offers look leat l
offers worker leat w
offers '--strict --strict-tree=' leat sum --str
offers '--quiet' leat sum t --qu
offers '' leat other --qu
offers 'md5,sha1' leat sum -a md5,sha1
offers 'sha1,sha224,md5' leat sum -a sha1,sha224,m
offers 'sha1,sha224' leat sum -a sha1,sha22
offers 'blake2b blake3' leat sum -a bl
offers 'xxh128 xxh3 xxh64' leat sum --algorithm = xx
offers 'trees' leat sum -c l --strict-tree = tr
offers 'trees/a trees/b' leat sum --strict-tree trees/
offers '' leat sum --cache = tr
offers '' leat sum tr

offers '--json' leat look --js
offers 'channels' leat look --list = ch
offers 'since' leat look --sort = si
offers '' leat look --token = tr

# leat map has a COMMAND, and what follows it is for that command.
offers '--retries=' leat map --ret
offers '--resume --resume=' leat map -j 4 --log = l --res
offers 'mapfile' leat map mapfil
offers 'mapfile' leat map -j 4 -0 --tag --retries = 2 --pipe --resume = ended mapfil
offers 'mapfile' leat map -uj 4 -n10 -- mapfil
offers 'mapfile' leat map --halt never mapfil
offers '' leat map echo mapfil
offers '' leat map echo --ret
offers '' leat map -- --ret
offers 'ended' leat map --resume = ''
offers 'never now now,fail=1 now,success=1' leat map --halt = n
offers 'max' leat map -n ''
offers '1 16' leat map -0 -j 1
offers '' leat map -a tr
offers '' leat map --log = tr
is 'bash: what it is for' 'complete -o default -F _leat leat' \
    "$(bash -c '. "$1" && complete -p leat' bash "$files/leat.bash")"

# ---- the shells find no error in the files, if they are installed ----

bash -n "$files/leat.bash" || fail 'bash -n'
if command -v zsh >/dev/null; then
    zsh -n "$files/_leat" || fail 'zsh -n'
fi
# fish_offers LINE: completions of its last word
fish_offers() {
    fish -c 'source $argv[1]; complete -C"$argv[2]"' "$files/leat.fish" "$1" | cut -f 1 | sort
}
if command -v fish >/dev/null; then
    fish -n "$files/leat.fish" || fail 'fish -n'
    for command in sum map look worker; do
        read_options $command
        fish_offers "leat $command --" | sed 's/=.*//' | sort -u >"$out/got"
        same "fish: what it offers for $command" "$out/options" "$out/got"
    done
    is 'fish: the command' xargs "$(fish_offers 'leat map -j 4 xarg')"
    is 'fish: what is behind it' '' "$(fish_offers 'leat map xargs --ret' | grep '^--')"
    is 'fish: a value' never "$(fish_offers 'leat map --halt ne')"
fi

finish
