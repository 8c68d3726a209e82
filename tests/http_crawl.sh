#!/usr/bin/env bash
# The example crawler_sockets visits the pages that another program, the example http_files, serves.
. "$(dirname "$0")/http_common.bash"
crawler=${LEAT_BUILD_DIR:?}/examples/example-crawler_sockets
[ -x "$crawler" ] || exit 77

# page NAME LINK…
page() {
    mkdir -p "served/$(dirname "$1")"
    printf '<a href="%s">a page</a>\n' "${@:2}" >"served/$1"
}

page index.html /a /sub/b http://other.example/ /index.html
page a /none /sub/../../out /sub/
page sub/b /index.html /two%20words
page 'two words' /a
serve

at=${url#http://}
is 'the pages' '/a: 200, 3 links
/index.html: 200, 3 links
/none: 404, 0 links
/sub/: 403, 0 links
/sub/../../out: 403, 0 links
/sub/b: 200, 2 links
/two%20words: 200, 1 links
7 pages, never more than four at once' "$("$crawler" "${at%/}" /index.html)"
"$crawler" "${at%/}" 2>/dev/null
is 'without a path' 2 $?
# Nobody listens at port 1.
"$crawler" 127.0.0.1:1 / >out 2>said
is 'status without a server' 1 $?
is 'without a server' 1 "$(grep -c 'Connection refused' out)"

finish
