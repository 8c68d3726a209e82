#!/usr/bin/env bash
# Thread-local variables are right after each move to another worker, however the library is
# compiled and linked: by gcc and clang, at -O2 and -O3, with link-time optimization, static and
# shared. Without LEAT_LONG only the first of these ways is tried.
set -euo pipefail

machine=$(uname -m)
[ -e "$LEAT_SOURCE_DIR/src/arch/switch_$machine.S" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$LEAT_SOURCE_DIR/tests/fresh
common=(-std=gnu17 -fvisibility=hidden -pthread
    "-I$LEAT_SOURCE_DIR/include" "-I$LEAT_SOURCE_DIR/src")
ran=0 failed=0

# compile COMPILER FLAG…: the library, to $work/*.o.
compile() {
    rm -f "$work"/*.o
    local file room
    for file in "$LEAT_SOURCE_DIR"/src/*/*.c "$LEAT_SOURCE_DIR/src/arch/switch_$machine.S" \
        "$LEAT_SOURCE_DIR/src/look/page.S"; do
        room=${file%/*}
        echo "-c $file -o $work/${room##*/}-${file##*/}.o"
    done | xargs -P "$(nproc)" -L 1 "$@" "${common[@]}"
}

# travel NAME COMMAND…: links a program and runs it.
travel() {
    local name=$1 text
    shift
    "$@" -o "$work/$name"
    ran=$((ran + 1))
    if text=$(LD_LIBRARY_PATH=$work timeout 100 "$work/$name" 2>&1); then
        echo "$name: $text"
    else
        echo "$name: status $?: $text"
        failed=1
    fi
}

# try COMPILER: each way to compile and link with it.
try() {
    local compiler=$1 name=${1##*/} program=("$here/travels.c" "$here/keep.c" "${common[@]}")
    command -v "$compiler" >/dev/null || return 0
    compile "$compiler" -O2
    travel "$name-O2-static" "$compiler" -O2 "${program[@]}" "$work"/*.o
    [ -n "${LEAT_LONG-}" ] || exit $failed
    compile "$compiler" -O3 -fPIC
    travel "$name-O3-static" "$compiler" -O3 -fPIC "${program[@]}" "$work"/*.o
    "$compiler" -O3 -shared -Wl,-soname,libleat.so "$work"/*.o -pthread -o "$work/libleat.so"
    travel "$name-O3-shared" "$compiler" -O3 -fPIC "${program[@]}" -L"$work" -lleat
    # Some compilers have no linker for link-time optimization.
    echo 'int main(void) { return 0; }' >"$work/main.c"
    "$compiler" -O2 -flto "$work/main.c" -o "$work/main" 2>"$work/why" || return 0
    compile "$compiler" -O2 -flto -fPIC
    travel "$name-O2-flto-static" "$compiler" -O2 -flto "${program[@]}" "$work"/*.o
    "$compiler" -O3 -flto -shared -fPIC -Wl,-soname,libleat.so "$work"/*.o -pthread \
        -o "$work/libleat.so"
    travel "$name-O3-flto-shared" "$compiler" -O3 -flto -fPIC "${program[@]}" -L"$work" -lleat
}

try gcc
try clang
[ $ran -gt 0 ] || exit 77
exit $failed
