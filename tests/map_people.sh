#!/usr/bin/env bash
# leat map: jobs that people do, with the tools that are there.
. "$(dirname "$0")/map_common.bash"
has() { command -v "$1" >/dev/null; }

# many files, each to one of another name
if has gzip; then
    for i in a 'b c' "d'e"; do seq 1000 >"$i.log"; done
    map gzip -9 ::: *.log || fail 'gzip'
    is 'gzip' "a.log.gz b c.log.gz d'e.log.gz" "$(echo *)"
    find . -name '*.gz' -print0 | map -0 -s 'zcat "$1" >"${1%.gz}"' || fail 'zcat'
    is 'zcat' 3000 "$(cat ./*.log | wc -l)"
    rm -f ./*
fi

# a check over all sources of a project, twice with the same result
if has clang-tidy; then
    printf 'int f(void) { return 0; }\n' >a.c
    printf 'int g(int *p) { return p ? 1 : *p; }\n' >b.c
    for i in 1 2; do
        find . -name '*.c' -print0 | sort -z |
            map -0 -n1 clang-tidy -quiet {} -- >"$out/tidy$i" 2>/dev/null
    done
    same 'clang-tidy, twice' "$out/tidy1" "$out/tidy2"
    grep -q 'b.c:1' "$out/tidy1" || fail 'clang-tidy'
    rm -f ./*
fi

# downloads that are tried again; a file stands for a server
if has curl; then
    seq 10 | map -s 'echo "page $1" >"page.$1"'
    seq 10 | map -j5 --retries=3 --backoff=10ms --timeout=30s \
        curl -fsS "file://$PWD/page.{}" >"$out/got" || fail 'curl'
    seq 10 | sed 's/^/page /' >"$out/wanted"
    same 'curl' "$out/wanted" "$out/got"
    gives 'curl: what is not there' 1 '' --retries=1 --backoff=1ms curl -fsS "file://$PWD/{}" ::: no
    rm -f ./*
fi

# tests, until one fails
for i in 1 2 3; do printf '#!/bin/sh\necho test %s; [ %s != 2 ]\n' $i $i >"test$i.sh"; done
chmod +x test*.sh
gives 'tests' 1 $'test 1\ntest 2' -j1 --fail-fast ./{} ::: test1.sh test2.sh test3.sh

# the same for many hosts; a shell stands for ssh
gives 'hosts' 0 $'a\tup\nb\tup\nc\tup' -j50 --tag sh -c 'echo up' ssh {} ::: a b c

# a sweep over parameters, which is resumed
gives 'a sweep' 0 $'0.1/1\n0.1/2\n0.01/1\n0.01/2' --log=sweep.log --resume \
    echo {1}/{2} ::: 0.1 0.01 ::: 1 2
gives 'a longer one' 0 $'0.1/3\n0.01/3' --log=sweep.log --resume \
    echo {1}/{2} ::: 0.1 0.01 ::: 1 2 3

# parts in order
gives 'parts' 0 $'chr1 called\nchr2 called\nchrX called' -s 'sleep 0.$((RANDOM % 3))
    echo "$1 called"' ::: chr1 chr2 chrX

# counting in a stream
is 'a stream' 25000 "$(seq 50000 | map --pipe=16K grep -c '[13579]$' | paste -sd+ | bc)"

# databases, each into a file that is there when it is whole
if has sqlite3 && has gzip; then
    for i in 1 2 3; do sqlite3 "base$i.db" "create table t(x); insert into t values($i)"; done
    echo junk >base4.db
    map -o '{.}.sql.gz' -s 'sqlite3 "$1" "pragma schema_version" >&2 && sqlite3 "$1" .dump | gzip' \
        ::: base*.db 2>"$out/err"
    is 'databases: status' 1 $?
    is 'databases: files' 'base1.sql.gz base2.sql.gz base3.sql.gz' "$(ls -- *.sql.gz | xargs)"
    is 'databases: content' 1 "$(zcat base3.sql.gz | grep -c 'VALUES(3)')"
fi

finish
