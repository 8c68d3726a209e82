#!/usr/bin/env bash
# Memory is bounded, whatever the tree and the list.
. "$(dirname "$0")/sum_common.bash"
[ -z "${LEAT_SANITIZE:-}" ] || skip 'sanitizers have memory of their own'
[ -r /proc/self/status ] || skip 'no /proc'

# peak WHAT MIB LAST ARGUMENT...: runs it, and measures when the line LAST is there and a FIFO holds
# the run.
mkfifo end lines
peak() {
    local what=$1 limit=$2 last=$3 kib
    shift 3
    "$leat" sum -j 2 "$@" >lines 2>&1 &
    exec 3<lines
    perl -e '$last = shift; while (<STDIN>) { exit if /\Q$last\E$/ }' "$last" <&3
    kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$!/status")
    : >end
    cat <&3 >/dev/null
    exec 3<&-
    wait $!
    echo "$what: $((kib / 1024)) MiB"
    [ "$kib" -lt $((limit * 1024)) ] || fail "$what: $kib KiB, more than $limit MiB"
}

# 20,000 files in 2,000 folders, and 10,000 in one; in the short run a fifth of them.
last=19999
[ -n "${LEAT_LONG-}" ] || last=11999
perl -e '
    my $last = shift;
    mkdir "tree";
    for my $d (1000 .. 1000 + ($last - 9999) / 5 - 1) {
        mkdir "tree/$d";
        for my $f (0 .. 9) { open(my $o, ">", "tree/$d/file$f") or die; print $o "$d $f" x $f; }
    }
    mkdir "tree/flat";
    for (10000 .. $last) { open(my $o, ">", "tree/flat/$_") or die; }' "$last"
peak 'many files' 24 "tree/flat/$last" tree end

# As many files as can be under way, with the longest names, after a file that takes long. To make
# these files takes six seconds.
if [ -n "${LEAT_LONG-}" ]; then
    perl -e '
        mkdir "wide";
        open(my $long, ">", "wide/0") or die; truncate($long, 1 << 30) or die;
        for my $d (100 .. 199) {
            mkdir "wide/$d";
            for (100 .. 449) { open(my $o, ">", "wide/$d/" . "n" x 252 . $_) or die; }
        }'
    peak 'long names behind a long file' 32 "199/$(printf 'n%.0s' {1..252})449" wide end
    rm -r wide
fi

# A list with names longer than any file can have.
perl -e '
    my $name = "n" x 100000;
    printf("%032d  $name\n", 0) for 1 .. 600;
    printf("%032d  $_\n", 0) for "last", "end"' >list
peak 'a list of long names' 48 'last: FAILED open or read' -c list

# A line of 100 MB, which leat must treat as if it never ended. The lines after it count.
perl -e '
    print "n" x 1000000 for 1 .. 100;
    printf("\n%032d  $_\n", 0) for "last", "end"' >list
peak 'a list with an endless line' 32 'last: FAILED open or read' -c list
perl -e 'print "n" x 1000000 for 1 .. 100; print "\0last\0end\0"' >names
peak 'an endless name' 32 'last: No such file or directory' --files0-from=names

finish
