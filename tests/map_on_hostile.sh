#!/usr/bin/env bash
# Frames from a link are checked: neither leat worker nor leat map --on believes a wrong frame.
. "$(dirname "$0")/on_common.bash"
command -v perl >/dev/null || skip 'there is no perl'
frames=$LEAT_SOURCE_DIR/tests/on_hostile.pl
version=$("$leat" worker --version)
version=${version##* }
rounds=60
[ -z "${LEAT_LONG-}" ] || rounds=300

# ended WHAT STATUS: the program has ended by itself, with this exit status
ended() {
    case $2 in
    0 | 1 | 2) ;;
    *) fail "$1: status $2: $(head -n 5 "$out/err")" ;;
    esac
    ! grep Sanitizer "$out/err" || fail "$1" # which ends a program with status 1, too
}
cat >"$work/mad" <<'MAD'
#!/bin/sh
perl "$FRAMES" "$SEED" "$VERSION" worker
sleep 0.0$((SEED % 3))
MAD
chmod +x "$work/mad"
export FRAMES=$frames VERSION=$version SEED
for SEED in $(seq $rounds); do
    perl "$frames" "$SEED" "$version" map | timeout -k 1 60 "$leat" worker >"$out/got" 2>"$out/err"
    ended "worker, seed $SEED" "${PIPESTATUS[1]}"
    LEAT_SSH=$work/mad map --on='a*2' cat /dev/null ::: 1 2 3 >"$out/got" 2>"$out/err"
    ended "map, seed $SEED" $?
done

# an end that is cut short is no end, whatever it begins with
cat >"$work/cut" <<'CUT'
#!/usr/bin/perl
sub frame { pack('VCV', length $_[2], $_[0], $_[1]) . $_[2] }
sub take { my $got = ''; while ($_[0] > length $got) { sysread STDIN, $got, $_[0] - length $got,
    length $got or exit } $got }
syswrite STDOUT, frame(1, 0, "$ENV{VERSION}\0" . pack('V', 1));
for (my $kind = 0; $kind != 3;) {
    (my $n, $kind) = unpack 'VC', take(9);
    take($n);
}
syswrite STDOUT, frame(10, 1, "\0" x $ENV{BYTES});
take(1 << 30);
CUT
chmod +x "$work/cut"
for BYTES in 0 4 7; do
    export BYTES
    LEAT_SSH=$work/cut says 'a cut end' 2 'a: lost: no leat worker sends this' --on='a*1' true ::: 1
done

finish
