#!/usr/bin/env bash
# Many files digested at once: the digests are coreutils', for every length and mix and all vectors.
. "$(dirname "$0")/sum_common.bash"

# Short files of every length, around the ends of blocks and of reads, and a few long ones among
# them; then in an order that has nothing to do with their lengths.
mkdir mix
perl -e '
    srand(4);
    my $all = join("", map { chr(int(rand(256))) } 1 .. 70000) x 20;
    my @lengths = (0 .. 300, 1e6, 3e5);
    for my $k (32, 64, 96, 128) {
        push @lengths, $k * 1024 + $_ for -65, -64, -63, -9, -8, -1 .. 1, 55, 56, 64 }
    push @lengths, int(exp(rand(12))) for 1 .. 400;
    my @places = sort { $a->[0] <=> $b->[0] } map { [rand, $_] } @lengths;
    for my $i (0 .. $#places) {
        open(my $o, ">", sprintf("mix/%04d", $i)) or die;
        print $o substr($all, int(rand(9999)), $places[$i][1]);
    }'

# Each digest in every way that this processor has; "none", which is libcrypto, one file at a time;
# and finally leat's own choice. The numbers are files at a time:
all_jobs='1 5' step=1
[ -n "${LEAT_LONG-}" ] || all_jobs=2 step=5
declare -A most=([md5]=40 [sha1]=20 [sha224]=2 [sha256]=20)
for digest in "${!most[@]}"; do
    "${digest}sum" mix/* >"$out/wanted"
    ways=()
    for way in avx512 avx2 vector plain none; do
        if LEAT_LANES=$way "$leat" sum -a "$digest" mix/0000 >"$out/got" 2>"$out/got.err"; then
            ways+=("$way")
        else
            is "$digest, $way: message" \
                "leat sum: LEAT_LANES: this processor has no '$way' for ${digest^^}" \
                    "$(cat "$out/got.err")"
        fi
    done
    [ "${#ways[@]}" -ge 2 ] || fail "$digest: vectors and libcrypto are everywhere"

    for way in "${ways[@]}" ''; do
        if [ -n "$way" ]; then export LEAT_LANES=$way; else unset LEAT_LANES; fi
        sum=("$leat" sum -a "$digest") what="$digest, $way"
        for jobs in $all_jobs; do
            "${sum[@]}" -j "$jobs" mix >"$out/got" 2>&1
            is "$what, -j $jobs: status" 0 $?
            same "$what, -j $jobs" "$out/wanted" "$out/got"
        done
        "${sum[@]}" -c "$out/wanted" >"$out/got"
        is "$what, -c: status" 0 $?
        is "$what, -c: right" "$(wc -l <"$out/wanted")" "$(grep -c ': OK$' "$out/got")"

        # With fewer descriptors than lanes.
        (ulimit -n 24 && "${sum[@]}" -j 2 mix >"$out/got" 2>&1)
        same "$what, few descriptors" "$out/wanted" "$out/got"

        # Few files at a time.
        for ((count = 1; count <= most[$digest]; count += step)); do
            head -n "$count" "$out/wanted" >"$out/first"
            mapfile -t paths < <(sed 's/.* //' "$out/first")
            "${sum[@]}" -j 1 "${paths[@]}" >"$out/got"
            same "$what, $count files" "$out/first" "$out/got"
        done
    done
done
md5sum mix/* >"$out/wanted"

# A file that keeps its reader waiting does not delay the others, nor mix with them. Files that
# cannot be read, and other kinds of file, have their places.
mkfifo fifo
files=(mix/000? fifo mix/001? nosuch mix mix/002? - mix/003?)
{
    md5sum mix/000?
    echo "$(printf abc | md5sum | cut -c -32)  fifo"
    md5sum mix/001?
    echo 'leat sum: nosuch: No such file or directory'
    cat "$out/wanted"
    md5sum mix/002?
    echo "$(printf input | md5sum | cut -c -32)  -"
    md5sum mix/003?
} >"$out/mixed"
for jobs in 1 3; do
    (sleep 0.2 && printf a && sleep 0.1 && printf bc) >fifo &
    printf input | "$leat" sum -j "$jobs" "${files[@]}" >"$out/got" 2>&1
    is "all kinds, -j $jobs: status" 1 $?
    same "all kinds, -j $jobs" "$out/mixed" "$out/got"
    wait
done

# An error in the middle of a file: only the first page of this one can be read.
if [ -r /proc/self/mem ]; then
    for jobs in 1 3; do
        "$leat" sum -j "$jobs" mix/000? /proc/self/mem mix/001? >"$out/got" 2>"$out/got.err"
        is "a read error, -j $jobs: status" 1 $?
        md5sum mix/000? mix/001? | same "a read error, -j $jobs" - "$out/got"
        is "a read error, -j $jobs: message" 'leat sum: /proc/self/mem: Input/output error' \
            "$(cat "$out/got.err")"
    done
fi

# Standard input from a file is read from its present position.
for skip in 0 100; do
    {
        [ "$skip" = 0 ] || dd bs="$skip" count=1 of=/dev/null 2>/dev/null
        "$leat" sum - mix/0001
    } <mix/0003 >"$out/got"
    {
        tail -c +"$((skip + 1))" mix/0003 | md5sum
        md5sum mix/0001
    } >"$out/first"
    same "standard input from $skip on" "$out/first" "$out/got"
done

# A number of bits that needs more than 32 bits, and for one digest a number of bytes. What
# coreutils print of so many zeros stands here, since they compute it for 20 s.
if [ -n "${LEAT_LONG-}" ]; then
    mkdir huge
    truncate -s 536870917 huge/1 huge/2
    # huge DIGEST FIRST SECOND
    huge() {
        printf '%s  huge/1\n%s  huge/2\n' "$2" "$3" >"$out/first"
        "$leat" sum -a "$1" huge >"$out/got"
        same "huge files, $1" "$out/first" "$out/got"
    }
    zeros=8e9aff269b0100da94e05015243e0a65c1399752
    huge sha1 $zeros $zeros
    zeros=067afeb284bda066154edc29030dbfdb883432345edbb83b37c54f87fb33931e
    huge sha256 $zeros $zeros
    truncate -s 4295098369 huge/1
    huge md5 fcdd2b265dbee921f88000420b610faa 53f83c490b7435d7e205466bfd984882
fi

finish
