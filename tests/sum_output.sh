#!/usr/bin/env bash
# Digests of files and of standard input: lines, escapes, messages and statuses are those of md5sum.
. "$(dirname "$0")/sum_common.bash"
need_oracle

names=(plain 'with space' ' leading' 'trailing ' '-n' '--tag' '*star' 'a:b' "it's" 'back\slash'
    'n\n' $'line\nfeed' $'carriage\rreturn' 'end)' 'r) = s' '(q'
    '#hash' '~tilde' '{' '$dollar' '"quotes"' $'\xff\xfe' $'\xc3\xa9' $'tab\t' "it's \$it" "it's#it"
    $'\x01' 'MD5 (x) = y')
for name in "${names[@]}"; do
    printf '%s' "$name" >"./$name"
done

for locale in C C.UTF-8; do
    export LC_ALL=$locale
    for form in '' -b -t -z --tag '--tag -z' '-b -z' '--text --tag' '-b -t' '-t -b'; do
        # shellcheck disable=SC2086
        compare $form -- "${names[@]}"
    done
    # The same names where there are no such files.
    compare -- "${names[@]/#/no}" "${names[@]/%/no}" ''
done
export LC_ALL=C

# Lengths around the blocks of the digests and of reads.
for size in 0 1 3 54 55 56 57 63 64 65 110 111 112 113 119 120 127 128 129 135 136 137 255 256 257 \
    4095 4096 65535 65536 65537 131071 131072 131073 1000000; do
    head -c "$size" /dev/urandom >"size$size"
done
for pair in md5sum:md5 sha1sum:sha1 sha224sum:sha224 sha256sum:sha256 sha384sum:sha384 \
    sha512sum:sha512 b2sum:blake2b; do
    oracle=${pair%:*} algorithm=${pair#*:}
    compare size*
    compare --tag size1 'back\slash' nosuch
done
oracle=md5sum algorithm=md5

# Standard input: alone, among files, twice.
input=size1000000
compare
compare -
compare --tag
compare -b plain - size1
compare - -
compare - plain -
input=/dev/null

# Files that cannot be read, in their places among the others.
mkdir folder
ln -s nowhere dangling
ln -s plain link
ln -s self self
compare plain nosuch size1 dangling link self plain/below '' /proc/self/mem size3
long=$(printf '%0300d' 0)
compare "$long" plain
compare /proc/version /dev/null /proc/self/cmdline.
if [ "$(id -u)" -ne 0 ]; then
    touch unreadable
    chmod 0 unreadable
    compare plain unreadable size1
fi

# A folder is an error for md5sum, but not here.
"$leat" sum plain folder size1 >"$out/got" 2>"$out/got.err"
is 'an empty folder: status' 0 $?
md5sum plain size1 >"$out/wanted"
same 'an empty folder: no line' "$out/wanted" "$out/got"

# Many files in the order given, for all sizes and numbers of digesters.
many=()
for _ in {1..40}; do
    many+=(size* plain)
done
md5sum "${many[@]}" >"$out/wanted"
for jobs in 1 2 3 16 200; do
    "$leat" sum -j "$jobs" "${many[@]}" >"$out/got"
    is "-j $jobs: status" 0 $?
    same "-j $jobs: order" "$out/wanted" "$out/got"
done

# A FIFO is read when its writer comes.
mkfifo fifo
(sleep 0.2 && exec cat size131073 >fifo) &
"$leat" sum fifo >"$out/got"
is 'a FIFO: status' 0 $?
wait
sed 's/size131073/fifo/' <(md5sum size131073) >"$out/wanted"
same 'a FIFO' "$out/wanted" "$out/got"

# Lines are written when they are ready, not when the buffer is full or the run ends.
mkfifo lines
exec 3<>fifo
"$leat" sum plain size1000000 fifo >lines &
waiting=$!
exec 4<lines
for name in plain size1000000; do
    read -r -t 60 -u 4 line || fail "the line of $name was held back"
    is 'a line at once' "$(md5sum "$name")" "$line"
done
kill "$waiting"
wait "$waiting"
is 'ended while it waits: status' 143 $?
exec 3<&- 4<&-

finish
