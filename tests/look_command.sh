#!/usr/bin/env bash
# leat look without a terminal: what it prints, and that it believes no wrong answer.
. "$(dirname "$0")/look_common.bash"
answer ok 3
serve

# says WHAT MESSAGE ARGUMENT...: status 2, no output, and exactly this message
says() {
    local what=$1 message=$2
    shift 2
    timeout -k 5 120 "$leat" look "$@" >"$out/got" 2>"$out/err"
    is "$what: status" 2 $?
    is "$what: output" '' "$(head -c 300 "$out/got")"
    is "$what: message" "leat look: $message" "$(head -n 1 "$out/err")"
}
# column WORD: that column of the list, whose names are in the line that has the word
column() {
    awk -v name="$1" 'at { print $at } !at { for (i = 1; i <= NF; i++) if ($i == name) at = i
        if (at && !/,/) next; at = 0 }' "$out/got" | xargs
}

# ---- one look ----

look >"$out/got" 2>"$out/err"
is 'status' 0 $?
is 'messages' '' "$(cat "$out/err")"
grep -qE '^mill [0-9]+, up [0-9.]+s, [0-9]+ members, leat 0.2.0$' "$out/got" || fail 'the head'
grep -q '^switches [0-9.]*/s  started .* stacks 12, 4 free  threads 2, 1 free$' "$out/got" ||
    fail 'the counts'
grep -qE '^worker 0   \[\|{5} {15}\]  25%  ready 0     queued [0-9]+ .* runs t36 evil' "$out/got" ||
    fail 'worker 0'
grep -qE '^worker 1   \[\|{20}\] 100% .* does not answer$' "$out/got" || fail 'worker 1'
grep -qx 'parties: 10, by since' "$out/got" || fail 'the title'
is 'by since' 'k9 t102 t101 t100 t37 t38 b7f m1 t2 t36' "$(column id)"
grep -q 'reader (mill.c:30)  receive c34 quotes, send c35 log$' "$out/got" || fail 'the waits'
grep -qE ' fetch \(mill.c:40\) +receive c34 quotes$' "$out/got" || fail 'a name without folders'
grep -q 'mill+0x99 tick *sleep$' "$out/got" || fail 'a sleep'
LC_ALL=C tr -d '\n' <"$out/got" | LC_ALL=C grep -q '[^ -~]' && fail 'bytes that are no ASCII'
grep -qF 'evil?[31m?next??' "$out/got" || fail 'control characters'
grep -qE ' gr[?]{2}e [?]{2}$' "$out/got" || fail 'characters that the locale lacks'
if locale -a | grep -qix 'C.utf-\?8'; then
    LC_ALL=C.UTF-8 look >"$out/got"
    grep -q 'größe 世界' "$out/got" || fail 'characters'
    grep -qF 'evil?[31m?next??' "$out/got" || fail 'control characters of UTF-8'
fi
is 'the request' $'GET /json HTTP/1.1\r' "$(head -n 1 "$out/mode.request")"

look --list=channels >"$out/got"
is 'channels' 'c34 c35' "$(column id)"
is 'states' 'open full' "$(column state)"
look --list=scopes >"$out/got"
is 'scopes' 's1 s33 s40' "$(column tree)"
grep -q '^    s40 ' "$out/got" || fail 'the tree'
look --list=waits >"$out/got"
is 'waits' 'k9 t102 t101 t100 t37 t37 b7f m1 t2' "$(column id)"
look --list=stages >"$out/got"
is 'stages' 'p1 p2' "$(column id)"
is 'what runs' '2 -' "$(column running)"
is 'the window' '4 -' "$(column held)"
grep -q 'open .* parse *c34 quotes *c35 log$' "$out/got" || fail 'the ends of a stage'
grep -q 'waiting .* c35 log, c99 and 1 more *c34 quotes$' "$out/got" || fail 'of an operator'
look --list=stacks >"$out/got"
is 'the request for stacks' $'GET /json?stacks=1 HTTP/1.1\r' "$(head -n 1 "$out/mode.request")"
is 'stacks' 't37' "$(column first)"
grep -q '^ *1  t37 .* mill+0xa166 next_quote+0x26, mill+0xb000 main?+0x1$' "$out/got" ||
    fail 'a stack'
look --list=descriptors >"$out/got"
is 'descriptors' d7 "$(column id)"
is 'readers' 1 "$(column readers)"
look --list=batchers >"$out/got"
is 'batchers' g1 "$(column id)"
grep -qE '^g1 +open +1 +1 .* s1 +log$' "$out/got" || fail 'a batcher'
look --list=counts >"$out/got"
is 'counts' 11 "$(column number | wc -w)"
grep -qE '^stacks, free +4 +- +stacks are mapped and not in use$' "$out/got" || fail 'a count'

# ---- sort and filter ----

look --sort=id >"$out/got"
is 'by id' 'b7f k9 m1 t2 t36 t37 t38 t100 t101 t102' "$(column id)"
look --sort=id -r >"$out/got"
is 'by id, reversed' 't102 t101 t100 t38 t37 t36 t2 m1 k9 b7f' "$(column id)"
look --sort=since --reverse >"$out/got"
is 'by since, reversed: what is not known comes last' 'm1 b7f t38 t37 t100 t101 t102 k9 t2 t36' \
    "$(column id)"
look --sort=kind >"$out/got"
is 'by kind' 'b7f k9 t2 t36 t37 t38 t100 t101 t102 m1' "$(column id)"
look --filter=READER >"$out/got"
grep -qx "parties: 1 of 10 with 'READER', by since" "$out/got" || fail 'the title of a filter'
is 'filter' 't37' "$(column id)"
look --filter='send c35' --list=waits >"$out/got"
is 'filter waits' t37 "$(column id)"
look --filter=nothing >"$out/got"
is 'a filter without lines' '' "$(column id)"
answer ok 2000
look --once --sort=id --filter='worker 1' >"$out/got"
is 'many lines' 1111 "$(($(wc -l <"$out/got") - 6))"
grep -q 'members, sampled, leat' "$out/got" || fail 'sampled'

# ---- the document as it came ----

answer ok 3
look --json >"$out/json"
is '--json: status' 0 $?
python3 -c 'import json, sys
document = json.load(open(sys.argv[1], "rb"))
assert document["program"] == "mill" and len(document["parties"]) == 10' "$out/json" ||
    fail '--json'
is 'with stacks' $'GET /json?stacks=1 HTTP/1.1\r' "$(head -n 1 "$out/mode.request")"

# ---- other forms of answers and addresses ----

for mode in slow unknown-length; do
    answer $mode 3
    look --sort=id >"$out/got" || fail "$mode: status"
    is "$mode" 'b7f k9 m1 t2 t36 t37 t38 t100 t101 t102' "$(column id)"
done
# Each piece has its own ten seconds.
if [ -n "${LEAT_LONG-}" ]; then
    answer halts 3
    look --sort=id >"$out/got" || fail 'an answer with halts'
fi
answer token 3
echo 'open sesame' >"$out/token"
look --token="$out/token" >"$out/got" || fail '--token'
LEAT_LOOK_TOKEN='open sesame' look >"$out/got" || fail 'LEAT_LOOK_TOKEN'
LEAT_LOOK_TOKEN=open look --token="$out/token" >"$out/got" || fail '--token before the variable'
says 'no token' "$at: 401: this look needs a token" "$at"
LEAT_LOOK_TOKEN=wrong says 'a wrong token' "$at: 401: this look needs a token" "$at"
says 'no file of a token' "$out/none: No such file or directory" --token="$out/none" "$at"
printf 'a b \n' >"$out/bad"
says 'a token with a blank at its end' "$out/bad: its first line is no token" \
    --token="$out/bad" "$at"
: >"$out/bad"
says 'an empty token' "$out/bad: its first line is no token" --token="$out/bad" "$at"
LEAT_LOOK_TOKEN=$'a\r\nb' says 'a token of lines' 'LEAT_LOOK_TOKEN is no token' "$at"
# The program that looks does not serve itself.
answer ok 3
LEAT_LOOK=$at look >"$out/got" || fail 'LEAT_LOOK in the environment'

# ---- trouble ----

says 'nobody there' "unix:$work/none: No such file or directory" "unix:$work/none"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/dead"
says 'refused' "unix:$work/dead: Connection refused" "unix:$work/dead"
says 'a port' '127.0.0.1:1: Connection refused' 127.0.0.1:1
says 'a url' 'http://127.0.0.1:1/: Connection refused' http://127.0.0.1:1/
trouble() {
    answer "$1" "$2"
    says "$1 $2" "$at: $3" --once "$at"
}
trouble 404 0 '404: there is no ?[31msuch page'
trouble 500 0 '500: Trouble Here'
trouble cut-head 0 'its answer was cut off in the head'
trouble nothing 0 'it closed the connection without an answer'
trouble no-json 0 "its answer is no JSON: line 1, column 10: invalid token near '?'"
trouble no-http 0 'it does not answer in HTTP'
trouble long-head 0 'it does not answer in HTTP'
trouble huge 0 'its answer is longer than 64 MiB'
trouble endless 0 'its answer is longer than 64 MiB'
trouble deep 0 'its answer is no document of leat'
trouble many 0 'its answer is no document of leat'
trouble chunked 0 'its answer is encoded, which no leat does'
answer cut 100
look >"$out/got" 2>"$out/err"
is 'cut' 2 $?
grep -qE 'its answer was cut off after [0-9]+ of [0-9]+ bytes' "$out/err" || fail 'cut'
answer 404 0
says '--json of an error' "$at: 404: there is no ?[31msuch page" --json "$at"

# Whatever comes: a screen, or one message.
rounds=150
[ -z "${LEAT_LONG-}" ] || rounds=400
refused=0
lists=(parties channels scopes waits stages stacks descriptors batchers counts)
for seed in $(seq $rounds); do
    list=${lists[seed % 9]}
    answer mad "$seed"
    [ $((seed % 10)) != 0 ] || answer bytes "$seed"
    look --list=$list --filter=e >"$out/got" 2>"$out/err"
    status=$?
    refused=$((refused + (status == 2)))
    case $status in
    0) is "seed $seed: messages" '' "$(cat "$out/err")" ;;
    2) is "seed $seed: lines" '0 1' "$(wc -l <"$out/got") $(wc -l <"$out/err")" ;;
    *) fail "seed $seed: status $status: $(head -n 5 "$out/err")" ;;
    esac
    LC_ALL=C tr -d '\n' <"$out/err" | LC_ALL=C grep -q '[^ -~]' && fail "seed $seed: a message"
    ! grep Sanitizer "$out/err" || fail "seed $seed" # which ends a program with status 1
done
[ $refused -gt $((rounds / 2)) ] || fail "only $refused of $rounds wrong answers were refused"
[ $refused -lt "$rounds" ] || fail 'no answer was taken'

# ---- arguments ----

forms='ADDRESS is unix:/path, unix:@name, host:port or http://host:port/'
says 'no address' 'missing ADDRESS'
says 'two addresses' "unexpected argument 'b:2'" a:1 b:2
for address in '' 'a b:1' udp:a:1 https://a:1/ http://a:1/other http:// http://u@a:1/ ftp://a:1; do
    says "$address" "$forms" "$address"
done
for address in host 7000 host: http://a:/; do
    says "$address" "the port is missing: $forms" "$address"
done
says 'unix:' "the path is missing: $forms" unix:
says 'a token in the address' \
    'a token on the command line is seen by others: use --token=FILE or LEAT_LOOK_TOKEN' \
    'http://a:1/?token=x'
for delay in 0 0.05 -1 x 1e3 0x10 '' inf nan 3601 1.2.3; do
    says "-d $delay" "invalid argument '$delay' for '--delay': it takes seconds, from 0.1 to 3600" \
        -d "$delay" a:1
done
says '--list' "invalid argument 'tasks' for '--list': it takes parties, channels, scopes, waits, \
stages, stacks, descriptors, batchers or counts" --list=tasks a:1
says '--sort' "invalid argument 'rate' for '--sort': it takes tree, members, state, ends, \
since, around or opener" --list=scopes --sort=rate a:1
says '--json' '--json, --dump, --graph and --trace print all: they cannot be combined with '\
'--list, --sort, --reverse or --filter' --json --filter=x a:1
says 'two prints' 'only one of --json, --dump, --graph and --trace can be printed' \
    --dump --graph a:1
for seconds in 0 61 x ''; do
    says "--trace=$seconds" \
        "invalid argument '$seconds' for '--trace': it takes seconds, from 0.1 to 60" \
        --trace=$seconds a:1
done
is '--version' "leat look $("$leat" --version | sed 's/leat //')" "$("$leat" look --version)"
for tasks in 3 3000; do # the output is written at the end, or at once
    answer ok $tasks
    LC_ALL=C look --once >/dev/full 2>"$out/err"
    is "a full device, $tasks tasks" 2 $?
    is "a full device, $tasks tasks: message" \
        'leat look: write error: No space left on device' "$(cat "$out/err")"
done
is 'the server' '' "$(cat "$out/server")"

finish
