#!/usr/bin/env bash
# Called as md5sum, sha1sum, … leat passes the tests that coreutils 9.1 has for these programs.
. "$(dirname "$0")/sum_common.bash"
"$LEAT_SOURCE_DIR/scripts/coreutils-source" >"$out/fetched" 2>&1 ||
    skip "coreutils' tests cannot be fetched: $(tail -n 1 "$out/fetched")"

# A copy, since the tests look for the programs in the folder where they run.
cp -r "$LEAT_SOURCE_DIR/build/coreutils/tests" .
mkdir src
programs=(md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum)
for program in "${programs[@]}"; do
    ln -s "$leat" "src/$program"
done

# passes TEST: runs it with the programs in src
passes() {
    export srcdir=$PWD abs_top_builddir=$PWD built_programs=${programs[*]}
    case $1 in
    *.pl)
        PATH=$PWD/src:$PATH perl -w -Itests -MCuSkip -MCoreutils \
            -M"CuTmpdir qw(${1%.pl})" "tests/misc/$1"
        ;;
    *.sh) bash "tests/misc/$1" ;;
    esac >"$out/said" 2>&1
}

tests=(md5sum.pl md5sum-newline.pl md5sum-bsd.sh md5sum-parallel.sh
    sha1sum.pl sha1sum-vec.pl sha224sum.pl sha256sum.pl sha384sum.pl sha512sum.pl b2sum.sh)
# These seven call one program by other names.
[ -n "${LEAT_LONG-}" ] || tests=(md5sum.pl md5sum-newline.pl md5sum-bsd.sh sha256sum.pl b2sum.sh)
for test in "${tests[@]}"; do
    passes "$test"
    status=$?
    is "$test: status" 0 "$status"
    [ "$status" -eq 0 ] || tail -n 20 "$out/said"
done

# The tests do notice what leat does.
rm src/md5sum
printf '#!/bin/sh\n%q "$@" | sed "s/OK$/ok/"\n' "$PWD/src/real/md5sum" >src/md5sum
mkdir src/real
ln -s "$leat" src/real/md5sum
chmod +x src/md5sum
passes md5sum.pl && fail 'a program that is wrong passes'

finish
