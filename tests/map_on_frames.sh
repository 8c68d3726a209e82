#!/usr/bin/env bash
# What leat map --on and leat worker say to each other, and what they wait for, is no more than jobs
# need.
. "$(dirname "$0")/on_common.bash"
command -v perl >/dev/null || skip 'there is no perl'

# Stands for ssh, and keeps what passes.
cat >"$work/spy" <<'SPY'
#!/bin/sh
tee sent | "$LEAT_BIN" worker | tee got
SPY
chmod +x "$work/spy"
cat >"$work/kinds" <<'KINDS'
while (read STDIN, $head, 9) {
    ($size, $kind) = unpack 'VC', $head;
    read STDIN, $body, $size if $size;
    $count{$kind}++;
}
print join ' ', map { "$_:$count{$_}" } sort { $a <=> $b } keys %count;
KINDS
kinds() {
    perl "$work/kinds" <"$1"
}

# HELLO 1, ARGUMENTS 2, START 3; HELLO 1, OUTPUT 6, ENDED 10
LEAT_SSH=$work/spy gives 'little output' 0 "$(seq 50)" --on='a*2' echo ::: $(seq 50)
is 'little output: no credit' '1:1 2:50 3:50' "$(kinds sent)"
is 'little output: from the worker' '1:1 6:50 10:50' "$(kinds got)"

# more than any credit, both ways: a credit stands for 64 KiB and more
head -c 4M /dev/zero >"$out/wanted"
LEAT_SSH=$work/spy map --on=a --pipe=1M cat <"$out/wanted" >"$out/got"
same 'much input and output' "$out/wanted" "$out/got"
for way in sent got; do
    credits=$(kinds $way | grep -o ' 8:[0-9]*' | cut -d: -f2)
    { [ "$credits" -gt 0 ] && [ "$credits" -le 64 ]; } || fail "$way: ${credits:-no} credits"
done

# nothing comes after the end of a job, which has its first 64 KiB of input just then
seq 1000000 | map --on='a*4' --pipe=150K true >"$out/got" 2>&1
is 'ends behind credits' '0 0' "$? $(wc -c <"$out/got")"

# a thread attends to each program: the worker's epoll has the same descriptors with one and with
# three
watched='mkdir -p in$1; : >in$1/$2; until [ "$(ls in$1 | wc -l)" -ge $1 ]; do sleep 0.01; done
    cat /proc/$PPID/fdinfo/* 2>/dev/null | grep -c "^tfd:"; : >in$1/$2.out
    until [ "$(ls in$1/*.out | wc -l)" -ge $1 ]; do sleep 0.01; done'
one=$(map --on='a*1' -C' ' -s "$watched" ::: '1 1')
three=$(map --on='a*3' -C' ' -s "$watched" ::: '3 1' '3 2' '3 3' | sort -u | xargs)
[ "$one" -gt 0 ] || fail "$one descriptors"
is 'descriptors that are watched' "$one" "$three"

finish
