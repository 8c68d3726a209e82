#!/usr/bin/env bash
# --json: each line an object that a JSON reader understands, with the name and the digest.
. "$(dirname "$0")/sum_common.bash"

mkdir names
for name in plain 'a "quoted" one' 'back\slash' $'line\nfeed' $'\t\r\001\037\177' 'ünïcödé' '😀' \
    $'\x80' $'\xc3' $'\xc0\x80' $'\xe0\x80\x80' $'\xed\xa0\x80' $'\xef\xbf\xbd' \
        $'\xf0\x80\x80\x80' \
    $'\xf4\x8f\xbf\xbd' $'\xf4\x90\x80\x80' $'\xf5\x80\x80\x80' $'half\xe2\x82'; do
    printf '%s' "$name" >"names/$name"
done

# An independent reader, strict about UTF-8 and control characters, turns JSON back into plain
# lines.
read_json() {
    perl -MJSON::PP -MEncode -e '
        while (<STDIN>) {
            my $line = JSON::PP->new->utf8->decode($_);
            my $path = exists $line->{path} ? encode("UTF-8", $line->{path})
                                            : pack("H*", $line->{path_hex});
            die "both" if exists $line->{path} && exists $line->{path_hex};
            eval { decode("UTF-8", my $copy = $path, Encode::FB_CROAK) };
            die "wrong key for $path" if !!$@ != exists $line->{path_hex};
            print exists $line->{verdict} ? "$path: $line->{verdict}\0"
                                          : "$line->{$ARGV[0]}  $path\0";
        }' "$1"
}
perl -MJSON::PP -e1 2>/dev/null || skip 'perl has no JSON::PP'

for algorithm in md5 sha256; do
    "$leat" sum -a $algorithm -z names >"$out/wanted"
    "$leat" sum -a $algorithm --json names >"$out/got.json"
    is "$algorithm: status" 0 $?
    is "$algorithm: lines" "$(tr -dc '\0' <"$out/wanted" | wc -c)" "$(wc -l <"$out/got.json")"
    read_json $algorithm <"$out/got.json" >"$out/got"
    same "$algorithm" "$out/wanted" "$out/got"
done
printf '{"path":"names/plain","md5":"%s"}\n' "$(printf plain | md5sum | cut -c -32)" >"$out/wanted"
"$leat" sum --json names/plain >"$out/got"
same 'a line' "$out/wanted" "$out/got"

# Checking.
"$leat" sum names >list
printf 'd41d8cd98f00b204e9800998ecf8427e  nosuch\n%032d  names/plain\n' 0 >>list
"$leat" sum -c --json list >"$out/got.json" 2>"$out/got.err"
is 'check: status' 1 $?
"$leat" sum -c list >/dev/null 2>"$out/wanted.err"
same 'check: messages' "$out/wanted.err" "$out/got.err"
read_json md5 <"$out/got.json" >"$out/got"
{
    find names -type f -print0 | sort -z | perl -0 -pe 's/\0/: OK\0/'
    printf 'nosuch: FAILED open or read\0names/plain: FAILED\0'
} >"$out/wanted"
same 'check' "$out/wanted" "$out/got"
is 'check --quiet' 2 "$("$leat" sum -c --json --quiet list 2>/dev/null | wc -l)"

for option in -b -t --tag -z; do
    "$leat" sum --json $option names >"$out/got" 2>&1
    is "$option: status" 1 $?
    is "$option" 'leat sum: --json cannot be combined with --binary, --text, --tag or --zero' \
        "$(head -n 1 "$out/got")"
done

finish
