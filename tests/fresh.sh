#!/usr/bin/env bash
# Thread-local variables are right after each move to another worker, however the library is
# compiled and linked: by gcc and clang, at -O2 and -O3, with position-independent code and without,
# static and shared, with link-time optimization, and for AArch64 under qemu-user. Only with
# LEAT_LONG, since the twelve builds take minutes of a processor. A way that the machine cannot
# try is named.
set -euo pipefail

if [ -z "${LEAT_LONG-}" ]; then
    echo 'skipped: without LEAT_LONG'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$LEAT_SOURCE_DIR/tests/fresh
common=(-std=gnu17 -fvisibility=hidden -pthread
    "-I$LEAT_SOURCE_DIR/include" "-I$LEAT_SOURCE_DIR/src")
ran=0 failed=0

# Set by try: the command of the compiler, what it builds for, and what runs that.
compiler=() name='' machine='' runner=()

# The program runs the code of these files. The others are only linked, and compiled once for each
# machine.
run='/src/((arch|base|chan|sched|scope|time)/|flow/mutex)'
files=("$LEAT_SOURCE_DIR"/src/*/*.c "$LEAT_SOURCE_DIR/src/look/page.S")

# compile_into FOLDER FLAG…: the files that standard input names.
compile_into() {
    local file path
    while read -r file; do
        path=${file#"$LEAT_SOURCE_DIR/src/"}
        echo "-c $file -o $1/${path//\//-}.o"
    done | xargs -P "$(nproc)" -L 1 "${compiler[@]}" "${@:2}" "${common[@]}"
}

# compile FLAG…: the library, to $work/*.o.
compile() {
    local others=$work/$machine
    rm -f "$work"/*.o
    printf '%s\n' "${files[@]}" "$LEAT_SOURCE_DIR/src/arch/switch_$machine.S" |
        grep -E "$run" | compile_into "$work" "$@"
    if [ ! -d "$others" ]; then
        mkdir "$others"
        printf '%s\n' "${files[@]}" | grep -vE "$run" | compile_into "$others" -O1 -fPIC
    fi
    ln "$others"/*.o "$work"
}

# travel WAY ARGUMENT…: links the program with the library and runs it.
travel() {
    local program=$work/$name-$1 text
    "${compiler[@]}" "$here/travels.c" "$here/keep.c" "${common[@]}" -L"$work" "${@:2}" \
        -o "$program"
    ran=$((ran + 1))
    if text=$(LD_LIBRARY_PATH=$work timeout 100 "${runner[@]}" "$program" 2>&1); then
        echo "$name-$1: $text"
    else
        echo "$name-$1: status $?: $text"
        failed=1
    fi
}

# shared FLAG…: the library as a shared object.
shared() {
    "${compiler[@]}" "$@" -shared -Wl,-soname,libleat.so "$work"/*.o -pthread -o "$work/libleat.so"
}

# links FLAG…: whether the compiler and its linker work. Else says which ways are left out.
links() {
    echo 'int main(void) { return 0; }' >"$work/main.c"
    "${compiler[@]}" "$@" "$work/main.c" -o "$work/main" 2>"$work/why" && return
    echo "SKIPPED: $name $*: $(head -n 1 "$work/why")"
    return 1
}

try_fixed() {
    compile "$1" -fno-pic
    travel "${1#-}-static" "$1" -fno-pic -no-pie "$work"/*.o
}

try_pic() {
    compile "$1" -fPIC
    travel "${1#-}-pic-static" "$1" -fPIC "$work"/*.o
    shared "$1"
    travel "${1#-}-pic-shared" "$1" -fPIC -lleat
}

try_lto() {
    links -flto || return 0
    compile -O2 -flto -fPIC
    travel O2-lto-static -O2 -flto "$work"/*.o
    shared -O3 -flto -fPIC
    travel O3-lto-shared -O3 -flto -fPIC -lleat
}

# try MACHINE COMPILER…: each way to compile and link with it.
try() {
    machine=$1 compiler=("${@:2}") name=$1-$2 runner=()
    if [ "$machine" != "$(uname -m)" ]; then
        runner=(qemu-aarch64 -E "LD_LIBRARY_PATH=$work" -L /usr/aarch64-linux-gnu)
        if ! command -v "${runner[0]}" >/dev/null; then
            echo "SKIPPED: $name: there is no ${runner[0]}"
            return 0
        fi
    fi
    if ! command -v "$2" >/dev/null; then
        echo "SKIPPED: $name: there is no such compiler"
    elif links; then
        try_pic -O2
        try_fixed -O3
        try_lto
    fi
}

own=$(uname -m)
[ -e "$LEAT_SOURCE_DIR/src/arch/switch_$own.S" ] || exit 77
try "$own" gcc
try "$own" clang
if [ "$own" != aarch64 ]; then
    try aarch64 aarch64-linux-gnu-gcc
    try aarch64 clang --target=aarch64-linux-gnu
fi
[ $ran -gt 0 ] || exit 77
exit $failed
