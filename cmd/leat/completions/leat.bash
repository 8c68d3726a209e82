# Completion of leat for bash. tests/sum_completions.sh compares it with the options of the command.

_leat_offer() {
    mapfile -t COMPREPLY < <(compgen "$@")
}

# One more digest behind those that the word has already, with commas between them.
_leat_digests() {
    local word=$1 have= digest digests=
    [[ $word == *,* ]] && have=${word%,*},
    for digest in md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-256 blake2b xxh64 xxh128; do
        [[ ,$have == *,$digest,* ]] || digests+=" $have$digest"
    done
    _leat_offer -W "$digests" -- "$word"
}

_leat_sum() {
    local word=$1 before=$2
    # Of --option=value bash makes three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $before in
    -a | --algorithm) _leat_digests "$word" ;;
    -l | --length) _leat_offer -W '128 160 224 256 384 512' -- "$word" ;;
    -j | --jobs | --readers) _leat_offer -W '1 2 4 8 16' -- "$word" ;;
    --strict-tree)
        compopt -o filenames 2>/dev/null
        _leat_offer -d -- "$word"
        ;;
    --cache | --files0-from) ;;
    *)
        [[ $word == -* ]] || return
        _leat_offer -W '-a --algorithm= -l --length= -c --check -j --jobs= --files0-from= --readers=
            -L --dereference --cache= --paranoid --fail-fast --no-progress --json -b --binary -t
            --text --tag -z --zero --ignore-missing --quiet --status --strict -w --warn
            --strict-tree= --help --version' -- "$word"
        if [[ ${COMPREPLY-} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
        ;;
    esac
}

# What is not completed here is a file.
_leat() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _leat_offer -W 'sum --help --version' -- "$word"
    elif [[ ${COMP_WORDS[1]} == sum ]]; then
        _leat_sum "$word" "$before"
    fi
}

complete -o default -F _leat leat
