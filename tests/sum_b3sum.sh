#!/usr/bin/env bash
# BLAKE3 beside b3sum, the program of its designers: digests, lists and checks.
. "$(dirname "$0")/sum_common.bash"

b3sum --version >/dev/null 2>&1 || skip 'there is no b3sum'

# The lengths of the published digests, and the pattern of these.
perl -e '
    for my $len (0 .. 8, 63 .. 65, 127 .. 129, 1023 .. 1025, 16384, 31744, 102400,
        map { (1024 * $_, 1024 * $_ + 1) } 2 .. 8) {
        open(my $o, ">", sprintf("%06d", $len)) or die;
        print $o substr(join("", map { chr } 0 .. 250) x 409, 0, $len);
    }'
b3sum [0-9]* >"$out/wanted"
is 'lengths' 35 "$(wc -l <"$out/wanted")"
for jobs in 1 2; do
    "$leat" sum -a blake3 -j $jobs [0-9]* >"$out/got"
    same "every length, -j $jobs" "$out/wanted" "$out/got"
done

# From a pipe, in pieces of any size.
perl -e '
    srand(5);
    $| = 1;
    my $left = 102400;
    open(my $i, "<", "102400") or die;
    while ($left > 0) {
        my $n = 1 + int(exp(rand(10)));
        $n = $left if $n > $left;
        sysread($i, my $piece, $n) == $n && syswrite(STDOUT, $piece) == $n or die;
        $left -= $n;
    }' | "$leat" sum -a blake3 >"$out/got"
b3sum <102400 | same 'a pipe' - "$out/got"

# A file of many reads, whose length is no multiple of anything.
perl -e 'srand(6); print pack("L*", map { int(rand(2**32)) } 1 .. 1250000), "end"' >long
b3sum long >"$out/wanted"
"$leat" sum -a blake3 long >"$out/got"
same 'a long file' "$out/wanted" "$out/got"

# Long enough for several cores. With bounded readers only what the system has in its cache is read
# by several at a time: some is not, unless the file system has no other place.
for i in {1..5}; do cat long; done >longer
head -c $((17 << 20)) longer >even
b3sum longer even >"$out/wanted"
for jobs in 1 2 5; do
    for readers in '' --readers=1; do
        dd of=longer oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null || true
        head -c 11000000 longer >/dev/null
        "$leat" sum -a blake3 -j $jobs $readers longer even >"$out/got"
        same "several cores, -j $jobs $readers" "$out/wanted" "$out/got"
    done
done
"$leat" sum -a blake3,xxh64 -j 3 --tag longer | grep -F "$(b3sum --no-names longer)" >"$out/got"
is 'with another digest' 1 "$(wc -l <"$out/got")"

# Under its name.
ln -s "$leat" ../b3sum
echo 1 >'two words'
: >'a\b'
: >$'a\nb'
odd=('two words' 'a\b' $'a\nb')
b3sum [0-9]* "${odd[@]}" >list
../b3sum [0-9]* "${odd[@]}" >"$out/got"
same 'by its name' list "$out/got"
b3sum - <long >"$out/wanted"
../b3sum - <long | same 'standard input' "$out/wanted" -

# Each reads the lists of the other. The verdicts differ where a name is escaped.
b3sum -c "$out/got" >"$out/checked" || fail 'b3sum does not read the list'
../b3sum -c list >"$out/got"
is 'a list of b3sum: status' 0 $?
same 'a list of b3sum' <(grep -v '\\' "$out/checked") <(grep -v '\\' "$out/got")
is 'a list of b3sum: all' "$(wc -l <list)" "$(grep -c ': OK$' "$out/got")"
"$leat" sum -a blake3 -c --quiet list || fail 'a list of b3sum, with -a'
../b3sum --tag [0-9]* "${odd[@]}" >tagged
"$leat" sum -c --quiet tagged || fail 'a list with tags'

sed -i 's/^\(\\*\)..../\10000/' list
b3sum -c list 2>/dev/null | grep -v '\\' >"$out/wanted"
../b3sum -c list 2>"$out/got.err" | grep -v '\\' >"$out/got"
is 'wrong digests: status' 1 "${PIPESTATUS[0]}"
same 'wrong digests' "$out/wanted" "$out/got"
is 'wrong digests: message' '../b3sum: WARNING: 38 computed checksums did NOT match' \
    "$(cat "$out/got.err")"

finish
