#!/usr/bin/env bash
# Called by the name of one of coreutils' programs, leat prints exactly the same.
. "$(dirname "$0")/sum_common.bash"
need_oracle

mkdir ../bin folder
programs=(md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum)
[ -n "${LEAT_LONG-}" ] || programs=(md5sum sha256sum b2sum)
for program in "${programs[@]}"; do
    ln -s "$leat" "../bin/$program"
done

# both PROGRAM ARGUMENT...: compares each stream, both as one, and the status
both() {
    local wanted got
    "$@" <"$input" >"$out/wanted" 2>"$out/wanted.err"
    wanted=$?
    "$@" <"$input" >"$out/wanted.all" 2>&1
    (
        PATH=$work/bin:$PATH
        "$@" <"$input" >"$out/got" 2>"$out/got.err"
        echo $? >"$out/status"
        "$@" <"$input" >"$out/got.all" 2>&1
    )
    got=$(cat "$out/status")
    is "$*: status" "$wanted" "$got"
    same "$*: output" "$out/wanted" "$out/got"
    same "$*: messages" "$out/wanted.err" "$out/got.err"
    same "$*: both together" "$out/wanted.all" "$out/got.all"
}

printf abc >abc
printf 'x%.0s' {1..5000} >xs
: >$'a\nb'
: >'a\b'
: >' *-'
input=abc
for program in "${programs[@]}"; do
    both "$program"
    both "$program" abc - nosuch folder xs - $'a\nb' 'a\b' './ *-'
    both "$program" --tag abc $'a\nb' nosuch
    both "$program" -b abc -z xs $'a\nb'
    "$program" abc xs $'a\nb' 'a\b' >list
    "$program" --tag abc xs >>list
    sed 's/^[0-9a-f]\{4\}/0000/' list >wrong
    echo 'not a line' >>wrong
    for file in list wrong; do
        both "$program" -c $file
        both "$program" -c --quiet $file
        both "$program" -c --status $file
        both "$program" -c --strict -w $file
        both "$program" -c --ignore-missing $file nosuch folder
    done
    rm xs
    both "$program" -c list
    both "$program" -c --ignore-missing list
    printf 'x%.0s' {1..5000} >xs
done

# No folder is walked, so no descriptor is reserved for one.
one_descriptor() {
    local fd
    for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        [ "$fd" -lt 3 ] || eval "exec $fd>&-"
    done
    ulimit -n 8
    exec "$work/bin/md5sum" abc xs
}
md5sum abc xs >"$out/wanted"
(one_descriptor) >"$out/got" 2>/dev/null
same 'a single descriptor' "$out/wanted" "$out/got"

# b2sum has digests of other lengths.
for length in 0 8 16 128 160 256 504 512; do
    both b2sum -l $length abc xs
    both b2sum --length=$length --tag abc xs - nosuch
    b2sum -l $length abc >list
    b2sum -l $length --tag xs >>list
    both b2sum -c list
    both b2sum -l 128 -c list
    sed 's/^....../000000/; s/...$/000/' list >wrong
    both b2sum -c wrong
    cat list >>all
done
both b2sum -c all
sed 's/ (/(/; s/ = /= /' all >openssl
both b2sum -c openssl
for length in 1 7 520 4096 x 8x '' -8 99999999999999999999 ' 16' +16 $'\t 8' ' -8' '+ 8' '16 '; do
    both b2sum -l "$length" abc
done
printf 'BLAKE2%s\n' '' b - '(' ' (' 'b-8 (abc) = 00' 'b-0 (abc) = ' 'b-7 (abc) = 00' \
    'b-520 (abc) = 00' \
    'b- (abc) = 00' 'b-x (abc) = 00' 'b-0x10 (abc) = 0000' 'b-16(abc)= 0000' >odd
printf '%s  abc\n' 0 00 000 0000 "$(printf '%0130d' 0)" >>odd
both b2sum -c -w odd

# Two blanks, a tab or any other byte and one, before the name, but not after bits; and no name.
tagged=$(b2sum --tag abc) digest=$(b2sum abc | cut -d ' ' -f 1)
short=$(b2sum -l 128 --tag abc) shorter=$(b2sum -l 128 abc | cut -d ' ' -f 1)
for line in "${tagged/ / }" "${tagged/ /  }" "${tagged/ /   }" "${tagged/ /$'\t'}" \
    "${tagged/ /$'\t '}" "${tagged/ / $'\t'}" \
    "${tagged/ /x}" "${tagged/ /) }" "${tagged/ /xx}" "${tagged/ / x}" "${tagged/ /x  }" \
    "${tagged/ /}" "${short/ /  }" "${short/ /$'\t'}" "$digest " "$digest" "$digest  " \
        "$digest"$'\t' "$shorter " "0 " "00 " \
    "\\$shorter "; do
    echo "$line" >blanks
    both b2sum -c -w blanks
done
md5sum abc | cut -c -33 >blanks
both md5sum -c -w blanks

# It has coreutils' options, and no others.
for option in -a -j -L --algorithm=sha1 --jobs=2 --dereference --fail-fast --no-progress \
    -x --bogus \
    --cache=f --paranoid --strict-tree=. \
    --s --st --t --ta --bin --no --che=1 --zero --strict '-c -z' '-c --tag' '-c -b' '--tag -t' \
        '-t --tag'; do
    # shellcheck disable=SC2086
    both md5sum $option abc
done
is 'its own name in --help' 'Usage: md5sum [OPTION]... [FILE]...' \
    "$(PATH=$work/bin:$PATH md5sum --help | head -n 1)"
case $(PATH=$work/bin:$PATH sha256sum --version) in
'sha256sum (leat) '[0-9]*) ;;
*) fail '--version' ;;
esac
"$work/bin/md5sum" nosuch 2>"$out/got"
is 'its path in messages' "$work/bin/md5sum: nosuch: No such file or directory" "$(cat "$out/got")"

# Streams that are closed, are full, or have lost their reader.
for ending in '<&-' '- - <&-' '-c <&-' 'nosuch <&-' 'abc >&-' '-c list >/dev/full'; do
    both bash -c "md5sum $ending"
done
yes abc | head -n 20000 >many
for reader in 'sleep 0' 'head -n 1'; do
    both bash -c "md5sum \$(cat many) | $reader; echo \${PIPESTATUS[0]}"
done

finish
