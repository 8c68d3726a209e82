#!/usr/bin/env bash
# docs_page.sh [DIRECTORY]: the manual as a site (`make docs`) in a headless Chromium, opened from
# files: no page is wider than a phone, its texts can be read in light and dark, and the search
# finds functions first, by keyboard. With DIRECTORY, pictures of some pages are written there.
. "$(dirname "$0")/browser_common.bash"
for needed in cmark-gfm mandoc python3 perl; do
    command -v $needed >/dev/null || { echo "skipped: no $needed"; exit 77; }
done
pictures=${1:-}
site=$work/site
"${LEAT_SOURCE_DIR:-$(dirname "$0")/..}/scripts/site/build" "$site" || exit 1

down='\uE015' up='\uE013' enter='\uE007' escape='\uE00C' tab='\uE004'

# go PAGE
go() {
    post url "{\"url\": \"file://$site/$1\"}" >/dev/null
}

# first: what is found first, and its kind.
first() {
    js 'return document.querySelector("#found a").innerText.split("\n")[0]'
}

# search TEXT: types it into the empty box, and waits for the answer.
search() {
    js 'document.querySelector("#search input").value = ""; document.activeElement.blur();
        document.getElementById("found").replaceChildren()' >/dev/null
    key /
    text "$1"
    until_js "an answer for $1" \
        "document.querySelector('#search input').value === '$1' && found.children.length"
}

# chosen: the number of the chosen answer.
chosen() {
    js 'return [...found.children].findIndex(li => li.ariaSelected === "true")'
}

test_width() {
    size 360 740 light
    local page
    while read -r page; do
        go "$page"
        is "overflow at 360: $page" true "$(fits)"
    done < <(cd "$site" && ls ./*.html source/examples/{index,hunt.c,tree.h}.html)
    go performance.html
    until_js 'the picture' 'document.images[0].complete'
    is 'letters of the picture' true \
        "$(js 'return document.images[0].width / document.images[0].naturalWidth * 16 >= 10')"
}

test_looks() {
    local look width height page paper=
    for look in 'light 1600 1000' 'dark 360 740' 'dark 1600 1000' 'light 360 740'; do
        read -r look width height <<<"$look"
        size "$width" "$height" "$look"
        for page in index api-chan leat-map.1 building source/examples/hunt.c; do
            go "$page.html"
            is "overflow at $width: $page" true "$(fits)"
            is "contrast, $look: $page" enough "$(contrast)"
            picture "${page//\//-}-$width-$look"
        done
        paper+=" $(js 'return getComputedStyle(document.body).backgroundColor')"
    done
    [ "$(tr ')' '\n' <<<"$paper" | grep rgb | sort -u | wc -l)" = 2 ] || fail "papers: $paper"
    size 1600 1000 light
}

test_search() {
    size 1600 1000 light
    go channels.html
    until_painted
    search leat_send
    is 'leat_send' 'leat_send function · leat/chan.h' "$(first)"
    picture search
    key "$enter"
    until_js 'the function' 'location.href.endsWith("/api-chan.html#leat_send")'
    is 'the function is shown' true "$(js 'const { top } = document.getElementById("leat_send")
        .getBoundingClientRect(); return top > 0 && top < innerHeight')"
    search send
    is 'send' 'leat_send function · leat/chan.h' "$(first)"
    search LEAT_AWAIT_SEND
    is 'a macro' 'LEAT_AWAIT_SEND macro · leat/block.h' "$(first)"
    search retries
    is 'an option' '--retries=N option · leat-map(1)' "$(first)"
    search qqqq
    is 'nothing' 'Nothing is found.' "$(js 'return found.innerText')"
    go source/examples/hunt.c.html
    until_painted
    search leat_sim
    is 'chosen' 0 "$(chosen)"
    key "$down"
    key "$down"
    is 'chosen' 2 "$(chosen)"
    key "$up"
    is 'chosen' 1 "$(chosen)"
    key "$escape"
    is 'left' true "$(js 'return found.hidden')"
    key "$down"
    key "$enter"
    key "$enter"
    until_js 'a page of the API' 'location.pathname.includes("/api-")'
}

test_keyboard() {
    size 360 740 light
    go channels.html
    until_painted
    key "$tab"
    is 'skip' 'Skip to the text' "$(js 'return document.activeElement.textContent')"
    key "$enter"
    is 'skipped' content "$(js 'return document.activeElement.id')"
    js 'document.querySelector(".opens-contents").focus()' >/dev/null
    key "$enter"
    is 'contents' true "$(js 'return contents.matches(":popover-open")')"
    is 'overflow: contents' true "$(fits)"
    picture contents-360-light
    key "$tab"
    key "$enter"
    is 'the list is closed' false "$(js 'return contents.matches(":popover-open")')"
    is 'a heading' true "$(js 'return location.hash !== ""')"
    js 'document.querySelector(".opens-pages").focus()' >/dev/null
    key "$enter"
    is 'pages' true "$(js 'return pages.matches(":popover-open")')"
    picture pages-360-light
    key "$escape"
    is 'pages are closed' false "$(js 'return pages.matches(":popover-open")')"
    text /flow
    until_js 'an answer' 'found.children.length'
    is 'overflow: search' true "$(fits)"
    picture search-360-light
}

begin
for each in width looks search keyboard; do
    test_$each
    is "errors: $each" '' "$(post se/log '{"type": "browser"}' | sed 's/},{/\n/g' | grep SEVERE)"
done
[ $failed = 1 ] || echo 'all is well'
exit $failed
