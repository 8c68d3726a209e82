#!/usr/bin/env bash
# leat map: the ten jobs of its guide, with the tools that are there. One that is missing is named.
. "$(dirname "$0")/map_common.bash"
tests=$LEAT_SOURCE_DIR/tests
has() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null && continue
        echo "skipped: a job that needs $tool, which is not there"
        return 1
    done
}

# 1. many files, each to one of another name
if has flac; then
    for i in a 'b c' "d'e"; do seq 20000 >"$i.raw"; done
    find . -name '*.raw' -print0 | map -0 flac -s --force-raw-format --endian=little --sign=signed \
        --channels=1 --bps=8 --sample-rate=8000 -o {.}.flac {} || fail 'flac'
    is 'flac' "a.flac b c.flac d'e.flac" "$(echo *.flac)"
    find . -name '*.flac' -print0 | map -0 flac -d -s --force-raw-format --endian=little \
        --sign=signed -o {.}.back {} || fail 'flac -d'
    find . -name '*.raw' -print0 | map -0 cmp {} {.}.back || fail 'flac: other sound'
    echo noise >noise.flac
    gives 'flac: what is not flac' 1 '' flac -d -s -o {.}.wav {} ::: a.flac noise.flac 'b c.flac'
    is 'flac: the others' 'a.wav b c.wav' "$(echo *.wav)"
    rm -f ./*
fi

# 2. the same by gzip, in place
if has gzip; then
    for i in a 'b c' "d'e"; do seq 1000 >"$i.log"; done
    map gzip -9 ::: *.log || fail 'gzip'
    is 'gzip' "a.log.gz b c.log.gz d'e.log.gz" "$(echo *)"
    find . -name '*.gz' -print0 | map -0 -s 'zcat "$1" >"${1%.gz}"' || fail 'zcat'
    is 'zcat' 3000 "$(cat ./*.log | wc -l)"
    rm -f ./*
fi

# 3. downloads that are tried again, from a server that first knows nothing of one page
downloads() (
    # shellcheck source=tests/http_common.bash
    . "$tests/http_common.bash"
    for i in $(seq 30); do seq "$i" $((1000 * i)) >"served/page$i"; done
    serve
    mkdir got && cd got || exit 1
    seq 30 | sed "s|.*|${url%/}/page&|" >../urls
    echo "${url%/}/late" >>../urls
    map -j20 --retries=3 --backoff=10ms --timeout=30s \
        -s 'curl -fsSO --noproxy "*" "$1" 2>../err.$$ && exit
        grep -q 404 ../err.$$ && cp ../served/page1 ../served/late; exit 1' <../urls
    is 'curl: status' 0 $?
    diff -r . ../served || failed=1
    is 'curl: it was tried again' 1 "$(cat ../err.* | grep -c 404)"
    map -j20 curl -fsSO --noproxy '*' "${url%/}/{}" ::: page1 nowhere 2>../err.curl
    is 'curl: what is not there' 1 $?
    cd .. || exit 1
    finish
)
if has curl; then
    (downloads)
    case $? in
    0) ;;
    77) echo 'skipped: downloads, since there is no example-http_files' ;;
    *) fail 'downloads' ;;
    esac
fi

# 4. a check over all sources of a project, twice with the same result
if has clang-tidy git; then
    git init -q .
    for i in $(seq 52); do
        echo "int f$i(int *p) { return p ? 1 : *p; }" >"source $i.c"
    done
    git add .
    for i in 1 2; do
        git ls-files -z '*.c' |
            map -0 -n50 clang-tidy -quiet '-checks=-*,clang-analyzer-core.*' {} -- \
            >"$out/tidy$i" 2>"$out/err"
        is 'clang-tidy: status' 0 $?
    done
    same 'clang-tidy, twice' "$out/tidy1" "$out/tidy2"
    is 'clang-tidy: findings' 52 "$(grep -c 'warning: Dereference of null' "$out/tidy1")"
    is 'clang-tidy: their order' "$(git ls-files '*.c')" \
        "$(sed -n 's|^.*/\(source [0-9]*\.c\):1:.*warning:.*|\1|p' "$out/tidy1")"
    rm -rf ./* .git
fi

# 5. tests, until one fails
for i in 1 2 3; do printf '#!/bin/sh\necho test %s; [ %s != 2 ]\n' $i $i >"test$i.sh"; done
chmod +x test*.sh
gives 'tests' 1 $'test 1\ntest 2' -j1 --fail-fast ./{} ::: test1.sh test2.sh test3.sh

# 6. the same for many hosts, by a server of this test
. "$tests/sshd_common.bash"
if start_sshd; then
    printf 'here\nthere\nclosed\nhere\n' >hosts
    map -j50 --tag ssh -F "$work/client" -o BatchMode=yes {} uptime <hosts >"$out/got" \
        2>"$out/err"
    is 'hosts: status' 1 $?
    is 'hosts' 'here there here' \
        "$(awk -F '\t' '$2 ~ /load average/ { print $1 }' "$out/got" | xargs)"
    grep -q "^closed$(printf '\t')ssh: .*refused" "$out/err" || fail "hosts: $(cat "$out/err")"
else
    echo "skipped: hosts, since $why"
fi

# 7. a sweep over parameters, which is resumed
cat >simulate <<'SIMULATE'
#!/bin/sh
echo "$1 $2" >>runs
echo "$1/$2"
SIMULATE
chmod +x simulate
gives 'a sweep' 0 "$(printf -- '--rate=%s/--seed=%s\n' 0.1 1 0.1 2 0.01 1 0.01 2)" --log=sweep.log \
    --resume ./simulate --rate={1} --seed={2} ::: 0.1 0.01 ::: 1 2
gives 'a longer one' 0 "$(printf -- '--rate=%s/--seed=%s\n' 0.1 3 0.01 3)" --log=sweep.log \
    --resume ./simulate --rate={1} --seed={2} ::: 0.1 0.01 ::: 1 2 3
is 'a sweep: runs' 6 "$(wc -l <runs)"

# 8. parts in order, though the first one takes the longest
gives 'parts' 0 "$(printf '%s called\n' chr{1..22} chrX chrY)" -s '[ "$1" != chr1 ] || sleep 0.3
    echo "$1 called"' ::: chr{1..22} chrX chrY

# 9. counting in a stream
if has gzip; then
    seq 3000000 | gzip -1 >big.gz
    counts=$(zcat big.gz | map --pipe=1M -s 'grep -c "[13579]$" || true' | paste -sd+)
    is 'a stream' 1500000 $((counts))
fi

# 10. databases, each into a file that is there when it is whole
if has sqlite3 gzip; then
    for i in 1 2 3; do sqlite3 "base$i.db" "create table t(x); insert into t values($i)"; done
    echo junk >base4.db
    printf '%s\n' base1 base2 base3 base4 |
        map -o '{}.sql.gz' bash -o pipefail -c 'sqlite3 "$1.db" "pragma schema_version" >&2 &&
            sqlite3 "$1.db" .dump | gzip' bash 2>"$out/err"
    is 'databases: status' 1 $?
    is 'databases: files' 'base1.sql.gz base2.sql.gz base3.sql.gz' "$(ls -- *.sql.gz | xargs)"
    is 'databases: content' 1 "$(zcat base3.sql.gz | grep -c 'VALUES(3)')"
fi

finish
