#!/usr/bin/env bash
# leat map: what the items are, and what becomes of them in arguments.
. "$(dirname "$0")/map_common.bash"

# lists, lines, NULs
gives 'a list' 0 $'a\nb\nc' echo ::: a b c
gives 'no item' 0 '' echo ::: </dev/null
is 'lines' $'x a\nx b c\nx d' "$(printf 'a\n\nb c\nd' | map echo x)"
is 'NUL' $'[a\nb]\n[]\n[c]' "$(printf 'a\nb\0\0c\0' | map -0 printf '[%s]\n')"
printf '1\n2\n' >items
gives 'a file' 0 $'1\n2' -a items echo
is 'standard input' $'1\n2' "$(map -a - echo <items)"
gives 'several lists' 0 $'a-1\na-2\nb-1\nb-2' echo {1}-{2} ::: a b ::: 1 2
gives 'several lists, {}' 0 $'x a 1 y\nx a 2 y' echo x {} y ::: a ::: 1 2
gives 'several lists, an empty one' 0 '' echo ::: a b :::
is 'the items are not eaten' $'1\n2\n3' "$(seq 3 | map -j1 -s 'cat; echo "$1"')"

# what the shell of a peer would run
is 'names are not code' "\$(touch pwned) ; 'a\" b" \
    "$(printf '%s\n' "\$(touch pwned) ; 'a\" b" | map echo)"
is 'names are not code in a script' "\$(touch pwned) ; 'a\" b" \
    "$(printf '%s\n' "\$(touch pwned) ; 'a\" b" | map -s 'echo "$1"')"
[ ! -e pwned ] || fail 'a name was run'

# every byte but NUL
perl -e 'print join("\0", map { chr } 1 .. 255), "\0", join("", map { chr } 1 .. 255), "\0"' >bytes
map -0 printf '%s\0' <bytes >"$out/got"
same 'every byte' bytes "$out/got"
map -0 -s 'printf "%s\0" "$1"' <bytes >"$out/got"
same 'every byte, by a script' bytes "$out/got"

# placeholders
gives 'shortened' 0 'a/b/c.tar.gz a/b/c.tar c.tar.gz a/b c.tar' \
    echo '{} {.} {/} {//} {/.}' ::: a/b/c.tar.gz
gives 'names that begin with a dot' 0 '.x/.y .y .x .y' echo {.} {/} {//} {/.} ::: .x/.y
gives 'names of folders' 0 $'. . .\n.. .. .\na/.. .. a' echo {.} {/.} {//} ::: . .. a/..
gives 'the root' 0 '/z z / z' echo {.} {/} {//} {/.} ::: /z
gives 'no folder' 0 '. f' echo {//} {.} ::: f.c
gives 'a column shortened' 0 'x y.b' echo {1/.} {2/} ::: a/x.c ::: q/y.b
gives 'number and place' 0 $'1 1 a\n2 1 b' -j1 echo {#} {%} {} ::: a b
gives 'other braces' 0 '{ } {x} {a,b} ${1} {print} a' echo { } {x} '{a,b}' '${1}' {print} ::: a
gives 'environment' 0 $'1 1 1\n2 1 1' -j1 -s 'echo $LEAT_SEQ $LEAT_SLOT $LEAT_TRY' ::: a b
gives 'a script has no braces' 0 $'a ${1}' -s 'echo "$1" "\${1}"' ::: a

# Items that are read ahead: those of the window, as many that wait for it, and a buffer of 64 KiB.
# The rest that the writer has written is in the pipe.
if [ -r /proc/self/io ]; then
    mkfifo endless
    perl -e 'open(my $to, ">", "pipe") or die; print $to fcntl(STDOUT, 1032, 0); close $to;
        $line = "x" x 999 . "\n"; while () { syswrite STDOUT, $line or die }' >endless 2>/dev/null &
    writer=$!
    "$leat" map -j2 --window=8 --fail-fast \
        -s 'echo >>begun; until [ -e enough ]; do sleep 0.02; done; exit 1' <endless 2>/dev/null &
    run=$!
    begun() { [ "$(cat begun 2>/dev/null | wc -l)" = 2 ]; }
    wait_for begun
    written() { sed -n 's/^wchar: //p' "/proc/$writer/io"; }
    until before=$(written) && sleep 0.3 && [ "$(written)" = "$before" ]; do :; done
    [ "$before" -lt $(($(cat pipe) + 65536 + 20 * 1000)) ] || fail "read ahead: $before bytes"
    : >enough
    wait $run $writer
fi

# columns
is 'columns' $'c b a,b,c\nf e d,e,f' "$(printf 'a,b,c\nd,e,f\n' | map -C, echo {3} {2} {})"
is 'tabs' 'b a' "$(printf 'a\tb\n' | map -C '\t' echo {2} {1})"
is 'a column that is missing' '[a][]' "$(echo a | map -C, printf '[%s]' {1}{3} {2})"
is 'columns of a script' 'b a' "$(echo a,b | map -C, -s 'echo $2 $1')"
is 'csv' $'[x,"y\nz][b]' "$(printf '"x,""y\nz",b\n' | map -C csv printf '[%s]' {1} {2})"
is 'csv, empty lines and CR' $'[x\n\ny][b]' \
    "$(printf 'a,"x\n\ny",b\r\n' | map -C csv printf '[%s]' {2} {3})"
is 'csv, CR LF in quotes' $'[x\r\n\r\ny\r][b]' \
    "$(printf '\r\n"x\r\n\r\ny\r",b\r\n' | map -C csv printf '[%s]' {1} {2})"
printf 'a,"b\n' | map -C csv echo {1} >"$out/got" 2>"$out/err"
is 'csv without an end: status' 2 $?
is 'csv, quotes within a column' '[12" a][x][3" b][y]' \
    "$(printf '12" a,x\n3" b,y\n' | map -C csv printf '[%s]' {1} {2})"
# A quote without an end does not take in all input.
for end in '\n' '\0'; do
    null= message='an item is longer than 1 MiB'
    [ "$end" = '\n' ] || null=-0 message='a quoted column does not end'
    { printf "\"a$end" && yes "$(printf '%0512d' 0)" | tr '\n' "$end"; } |
        map $null -C csv echo {1} >"$out/got" 2>"$out/err"
    is "$message: status" 2 "${PIPESTATUS[1]}"
    is "$message: output" '' "$(cat "$out/got")"
    grep -q "$message" "$out/err" || fail "$message: $(cat "$out/err")"
done

# several items a command
gives '-n' 0 $'x 1 2\nx 3 4\nx 5' -n2 echo x ::: 1 2 3 4 5
gives '-n, in place' 0 $'1 2 x\n3 x' -n2 echo {} x ::: 1 2 3
gives '-n, shortened' 0 $'a b' -n2 echo {.} ::: a.c b.c
gives '-n, by number' 0 $'2 1\n 3' -n2 echo '{2} {1}' ::: 1 2 3
# An item that is too long ends the run after those before it.
for n in 3 max; do
    is "-n $n, then an item that is too long" 'a b' \
        "$({ printf 'a\nb\n' && head -c 1100000 /dev/zero | tr '\0' x; } |
            map -n $n -j1 echo 2>"$out/err")"
    grep -q 'an item is longer than 1 MiB' "$out/err" || fail "-n $n: $(cat "$out/err")"
done
gives '-n max' 0 $'1 2 3\n4 5' -n max -j2 echo ::: 1 2 3 4 5
seq 100000 >many
map -n max -j2 -u -s 'for i; do echo "$i"; done' <many | sort -n >"$out/got"
same '-n max, many' many "$out/got"
[ "$(map -n max -j2 -s 'echo' <many | wc -l)" -lt 20 ] || fail '-n max: many commands'
mapfile -t copies < <(printf '{}%.0s\n' {1..60})
map -n max -j2 true "${copies[@]}" <many >"$out/got" 2>&1
is '-n max, each item often' 0 $?
same '-n max, each item often: no message' /dev/null "$out/got"
mapfile -t copies < <(seq 30000)
gives '-n max, a long command' 0 $'30001\n30001' -n max sh -c 'echo $#' sh "${copies[@]}" ::: a b
# The kernel takes 128 KiB with this stack, and the environment is a part of that.
(
    ulimit -s 512 && large=$(printf '%020000d' 0) &&
        export large && map -n max -j2 -u -s 'for i; do echo "$i"; done' <many
) 2>"$out/err" | sort -n >"$out/got"
same '-n max, a small stack and a large environment' many "$out/got"

# blocks
seq 20000 >numbers
map --pipe=1K cat <numbers >"$out/got"
same '--pipe' numbers "$out/got"
is '--pipe: whole lines' '' "$(map --pipe=1K tail -c1 <numbers | tr -d '\n')"
[ "$(map --pipe=1K wc -l <numbers | wc -l)" -gt 50 ] || fail '--pipe: few blocks'
printf 'a\nb' | map --pipe=1 cat >"$out/got"
is '--pipe: no line feed at the end' $'a\nb' "$(cat "$out/got")"
gives '--pipe: a line each' 0 $'1\n1\n1' --pipe=1 wc -l < <(seq 3)
printf '1234\n%.0s' 1 2 3 4 5 | head -c 24 >five
is '--pipe: sizes' $'10\n10\n4' "$(map --pipe=10 wc -c <five)"
gives '--pipe: nothing' 0 '' --pipe wc </dev/null
map --pipe=64K true <numbers || fail '--pipe: input that is not wanted'
{ perl -e 'print "x" x 300000, "\n"'; seq 10; } >long
map --pipe=1K cat <long >"$out/got"
same '--pipe: a long line' long "$out/got"

# refused before anything runs
says 'an unknown placeholder' 2 "unknown placeholder '{..}'" touch ran{..} ::: a
says 'a value that is missing' 2 "no value for '{2}'" touch ran{2} ::: a
says 'number 0' 2 "unknown placeholder '{0}'" touch ran{0} ::: a
says 'a placeholder in a script' 2 'would be read as code' -s 'touch ran{}' ::: a
says 'a second placeholder in a script' 2 'would be read as code' -s 'echo {1..3} {}' ::: a
gives 'a pattern in a script' 0 'xxx' -s 'echo "$1" | grep -E "x{3}"' ::: xxx
says 'a script of two arguments' 2 'one argument' -s 'touch ran' b ::: a
says 'a part with -n' 2 'argument of its own' -n2 touch ran{} ::: a
says 'no command' 2 'missing command' -j2
says 'no command but items' 2 'missing command' ::: a
says 'no such file' 2 'nosuch: No such file' -a nosuch touch ran
says 'two files' 2 'may be given once' -a nosuch -a nosuch touch ran
says 'no such folder' 2 'nosuch: No such file' --dir=nosuch touch ran ::: a
says 'no folder' 2 'Not a directory' --dir=/dev/null touch ran ::: a
for option in output log dir; do
    says "an empty name: $option" 2 "the name after --$option is empty" --$option= touch ran ::: a
done
says 'an empty name: items' 2 'the name after --items is empty' -a '' touch ran
says 'lists and a file' 2 'cannot be combined' -a items touch ran ::: a
while read -r options; do
    # shellcheck disable=SC2086
    says "$options" 2 'cannot be combined' $options touch ran
done <<'TOGETHER'
--pipe -0
--pipe -C,
--pipe -n2
-C, -n2
-o out -l
-o out --tag
-l --retries=1
--dry-run --log=log
--dry-run -o out
TOGETHER
says 'columns and lists' 2 'cannot be combined' -C, touch ran ::: a ::: b
says '-n and lists' 2 'cannot be combined' -n2 touch ran ::: a ::: b
says 'jobs' 2 "invalid argument '0' for '--jobs'" -j0 touch ran ::: a
says 'too many jobs' 2 "invalid argument '4097' for '--jobs'" -j4097 touch ran ::: a
says 'an unknown option' 2 'unrecognized option' --nosuch touch ran ::: a
for option in --halt=soon,fail=0 --halt=now,fail=101% --halt=now,done=5% --halt=later --timeout=x \
    --timeout=0 --timeout=0x --spill=1Q --window=0 --columns=ab --columns= --retries=-1 \
    --backoff=1w --backoff=0x10 --backoff=1.2.3 --backoff=. --timeout=1..5x --grace=inf -n0 \
    --resume=all --pipe=0; do
    says "$option" 2 'invalid argument' "$option" touch ran ::: a
done
if localedef -i de_DE -f UTF-8 "$work/de" >"$out/err" 2>&1; then
    env LOCPATH="$work" LC_ALL=de "$leat" map --timeout=0.9m --log=log true ::: a
    is 'a locale with commas: status' 0 $?
    grep , log && fail 'a locale with commas: log'
else
    echo 'SKIPPED: a locale with commas: there is no de_DE'
fi
says '--resume alone' 2 'needs --log' --resume touch ran ::: a
map touch ran <. >"$out/got" 2>"$out/err"
is 'a folder: status' 2 $?
printf 'a\0b\n' | map touch ran 2>"$out/err"
is 'a NUL: status' 2 $?
grep -q 'NUL' "$out/err" || fail 'a NUL: message'
perl -e 'print "x" x (1 << 20), "yz\n"' | map echo >"$out/got" 2>"$out/err"
is 'a long item: status' 2 $?
map touch ran <&- 2>"$out/err"
is 'no standard input: status' 2 $?
[ ! -e ran ] || fail 'something was run'

# not run, but shown
gives '--dry-run' 0 $'echo \'a b\' \'{#}\'\necho c \'{#}\'' --dry-run echo {} {#} ::: 'a b' c
eval "$(map -0 --dry-run printf '%s\0' <bytes)" >"$out/got"
same '--dry-run: a shell reads it back' bytes "$out/got"

finish
