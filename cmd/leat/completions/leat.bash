# Completion of leat for bash. tests/completions.sh compares it with the options of the commands.

_leat_offer() {
    mapfile -t COMPREPLY < <(compgen "$@")
}

# One more digest after those that the word has already, with commas between them.
_leat_digests() {
    local word=$1 have= digest digests=
    [[ $word == *,* ]] && have=${word%,*},
    for digest in md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512 blake2b blake3 xxh64 xxh3 xxh128 crc32c; do
        [[ ,$have == *,$digest,* ]] || digests+=" $have$digest"
    done
    _leat_offer -W "$digests" -- "$word"
}

_leat_offer_options() {
    _leat_offer -W "$1" -- "$2"
    if [[ ${COMPREPLY-} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

_leat_sum() {
    local word=$1 before=$2
    case $before in
    -a | --algorithm) _leat_digests "$word" ;;
    -l | --length) _leat_offer -W '128 160 224 256 384 512' -- "$word" ;;
    -j | --jobs | --readers) _leat_offer -W '1 2 4 8 16' -- "$word" ;;
    --strict-tree | --find-moved)
        compopt -o filenames 2>/dev/null
        _leat_offer -d -- "$word"
        ;;
    --accept) _leat_offer -W 'changed missing changed,missing' -- "$word" ;;
    --cache | --update | --exclude | --exclude-from | --files0-from) ;;
    *)
        [[ $word == -* ]] || return
        _leat_offer_options '-a --algorithm= -l --length= -c --check -j --jobs= --files0-from=
            --readers= -L --dereference --exclude= --exclude-from= --tree --update= --accept= --cache= --paranoid
            --fail-fast --no-progress --json -b --binary -t --text --tag -z --zero --ignore-missing --quiet
            --status --strict -w --warn --strict-tree= --find-moved= --duplicates
            --help --version' "$word"
        ;;
    esac
}

# Prints the number of the word that is leat map's COMMAND. It is above COMP_CWORD in an option's
# value.
_leat_map_command() {
    local at word
    for ((at = 2; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        case $word in
        --)
            ((at++))
            break
            ;;
        --jobs | --items | --columns | --number | --output | --window | --spill | --halt | \
            --retries | --backoff | --timeout | --grace | --log | --on | --dir | --pipe | \
            --resume)
            if [[ ${COMP_WORDS[at + 1]-} == = ]]; then
                ((at += 2))
            elif [[ $word != --@(pipe|resume) ]]; then
                ((at++))
            fi
            ;;
        -*) [[ $word =~ ^-[0lsuv]*[aCjno]$ ]] && ((at++)) ;;
        *) break ;;
        esac
    done
    echo "$at"
}

_leat_map() {
    local word=$1 before=$2 command
    command=$(_leat_map_command)
    if ((command > COMP_CWORD)); then
        case $before in
        -C | --columns) _leat_offer -W 'csv ,' -- "$word" ;;
        -j | --jobs) _leat_offer -W '1 2 4 8 16' -- "$word" ;;
        -n | --number) _leat_offer -W 'max' -- "$word" ;;
        --halt) _leat_offer -W 'never soon now soon,fail=1 now,fail=1 now,success=1' -- "$word" ;;
        --resume) _leat_offer -W 'ended' -- "$word" ;;
        --on) _leat_offer -A hostname -- "$word" ;;
        --dir) _leat_offer -d -- "$word" ;;
        esac
    elif ((command == COMP_CWORD)) && [[ $word == -* && $before != -- ]]; then
        _leat_offer_options '-j --jobs= -a --items= -0 --null -C --columns= -n --number= -s --script
            --pipe --pipe= -u --unordered -l --lines --tag -o --output= --window= --spill= --halt=
            --fail-fast --retries= --backoff= --timeout= --grace= --log= --resume --resume=
            --on= --dir= --dry-run --no-progress -v --verbose --help --version' "$word"
    elif ((command == COMP_CWORD)); then
        _leat_offer -c -- "$word"
    fi
}

_leat_look() {
    local word=$1 before=$2
    case $before in
    -d | --delay) _leat_offer -W '0.2 0.5 1 2 5' -- "$word" ;;
    --list)
        _leat_offer -W 'parties channels scopes waits stages stacks descriptors batchers counts' \
            -- "$word"
        ;;
    --sort) _leat_offer -W 'around batches calls capacity count ends first for forming from held
        id items kind meaning members more name number of opener parties passed rate readers
        receivers running scope senders since stack state to tree waits window worker writers' -- "$word" ;;
    --filter | --token) ;;
    *)
        [[ $word == -* ]] || return
        _leat_offer_options '-d --delay= --list= --sort= -r --reverse --filter= --once --json --dump --graph --trace=
            --token= --help --version' "$word"
        ;;
    esac
}

_leat_worker() {
    local word=$1 before=$2
    case $before in
    -j | --jobs) _leat_offer -W '1 2 4 8 16' -- "$word" ;;
    --dir)
        compopt -o filenames 2>/dev/null
        _leat_offer -d -- "$word"
        ;;
    --grace | --lease) ;;
    *)
        [[ $word == -* ]] || return
        _leat_offer_options '-j --jobs= --dir= --grace= --lease= --help --version' "$word"
        ;;
    esac
}

# What is not completed here is a file.
_leat() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _leat_offer -W 'sum map look worker --help --version' -- "$word"
        return
    fi
    # Of --option=value bash makes three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case ${COMP_WORDS[1]} in
    sum) _leat_sum "$word" "$before" ;;
    map) _leat_map "$word" "$before" ;;
    look) _leat_look "$word" "$before" ;;
    worker) _leat_worker "$word" "$before" ;;
    esac
}

complete -o default -F _leat leat
