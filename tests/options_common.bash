# options_common.bash: the options of leat's commands, for the tests of what is written about them;
# sourced, not run.

. "$(dirname "${BASH_SOURCE[0]}")/command_common.bash"

# read_options COMMAND: writes into files in $out: `options`, the long ones; `letters`; `all`, both;
# `valued`, those that need a value; `optional`, those that may have one.
read_options() {
    # getopt lists the long ones, because an empty name abbreviates them all.
    "$leat" "$1" --= 2>&1 | head -n 1 | grep -oE "'--[a-z0-9-]+'" | tr -d "'" | sort \
        >"$out/options"
    [ "$(wc -l <"$out/options")" -ge 6 ] || fail "$1: few options"
    # The rest is in the help, in the column of the options.
    "$leat" "$1" --help | sed -nE 's/^  +(-.*)/\1/p' |
        sed 's/  .*//' >"$out/help"
    grep -oE -- '--[a-z][a-z0-9-]+' "$out/help" | sort -u >"$out/got"
    same "$1: --help" "$out/options" "$out/got"
    grep -oE -- '(^|, )-[a-zA-Z0-9]\b' "$out/help" | tr -d ', ' | sort >"$out/letters"
    grep -oE -- '--[a-z0-9-]+=' "$out/help" | tr -d = | sort >"$out/valued"
    grep -oE -- '--[a-z0-9-]+\[=' "$out/help" | tr -d '[=' | sort >"$out/optional"
    sort "$out/options" "$out/letters" >"$out/all"
}
