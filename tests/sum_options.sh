#!/usr/bin/env bash
# Options: contradictions, unknown ones, help and version.
. "$(dirname "$0")/sum_common.bash"
need_oracle

echo content >plain
md5sum plain >../list

options=(-b -t --tag -z -c --ignore-missing --quiet --status --strict -w)
for first in "${options[@]}"; do
    compare "$first" plain
    for second in "${options[@]}"; do
        compare "$first" "$second" plain
        compare "$first" plain "$second" ../list
        compare -c "$first" "$second" ../list
    done
done
compare --binary --text --zero plain
compare --check --warn ../list
compare --unknown
compare -Q plain
# Of --t leat sum says that it may also be --tree.
compare --te plain
compare --ta plain
compare --tag=yes plain
compare --bin plain
compare -bz -- plain -b
POSIXLY_CORRECT=1 compare plain -b

# status MESSAGE ARGUMENT...: a refusal with this first line, and a hint at --help
refused() {
    local message=$1
    shift
    "$leat" sum "$@" >"$out/got" 2>"$out/got.err" </dev/null
    is "$*: status" 1 $?
    is "$*: message" "leat sum: $message" "$(head -n 1 "$out/got.err")"
    is "$*: hint" "Try 'leat sum --help' for more information." "$(tail -n 1 "$out/got.err")"
    [ -s "$out/got" ] && fail "$*: output"
}
refused "invalid argument 'md6' for '--algorithm': it takes $algorithms" -a md6 plain
refused "invalid argument '' for '--algorithm': it takes $algorithms" --algorithm= plain
refused "option requires an argument -- 'a'" -a
refused '--length is only supported with --algorithm=blake2b' -l 128 plain
for jobs in 0 -1 '' x 1x ' 1' +1; do
    refused "invalid argument '$jobs' for '--jobs': it takes a number above 0" -j "$jobs" plain
done
refused "invalid argument '' for '--cache': it takes a file" --cache= plain
refused "invalid argument '' for '--cache': it takes a file" --cache '' plain
"$leat" sum -j 99999999999999999999 plain >"$out/got"
is 'very many jobs: status' 0 $?

for arguments in '--help' 'sum --help' '--version' 'sum --version'; do
    # shellcheck disable=SC2086
    "$leat" $arguments >"$out/got" 2>"$out/got.err"
    is "$arguments: status" 0 $?
    [ -s "$out/got" ] || fail "$arguments: no output"
    [ -s "$out/got.err" ] && fail "$arguments: messages"
    # shellcheck disable=SC2086
    "$leat" $arguments >/dev/full 2>"$out/got.err"
    is "$arguments to a full device: status" 1 $?
done
for arguments in '' 'nothing' '--nothing'; do
    # shellcheck disable=SC2086
    "$leat" $arguments >"$out/got" 2>"$out/got.err"
    is "leat $arguments: status" 1 $?
    is "leat $arguments: hint" "Try 'leat --help' for more information." \
        "$(tail -n 1 "$out/got.err")"
done

finish
