#!/usr/bin/env bash
# look_page.sh [URL [DIRECTORY]]: the page of a program in a headless Chromium. A program serves it
# at URL during the whole test (http://127.0.0.1:port/, with ?token= if it needs one), and has
# tasks that wait and channels; without a URL, the program is programs/looked. With DIRECTORY,
# pictures of the page are written there.
# Documents that a program hardly has are put in place of the answers to the page's questions.
. "$(dirname "$0")/browser_common.bash"
if [ $# = 0 ]; then
    mkfifo "$work/input"
    LEAT_LOOK=127.0.0.1:0 LEAT_LOOK_TOKEN='a b+c' LEAT_WATCH=waits,stacks \
        "$LEAT_PROGRAMS/looked" busy \
        <"$work/input" 2>"$work/said" &
    exec 9>"$work/input"
    until url=$(sed -n 's/^leat: look at //p' "$work/said") && [ -n "$url" ]; do
        kill -0 $! || { cat "$work/said"; exit 1; }
        sleep 0.1
    done
    bash "$0" "$url?token=a%20b+c" 9>&-
    status=$?
    exec 9>&-
    wait $! || { echo "the program ends with $?"; status=1; }
    exit $status
fi
url=$1 pictures=${2:-}

# go FRAGMENT: opens the page anew.
go() {
    post url '{"url": "about:blank"}' >/dev/null
    post url "{\"url\": \"$url#$1\"}" >/dev/null
    until_js "the page with #$1" 'doc'
    until_painted
}

# answers SCRIPT: from now on the page gets a document that the script changes: `next`, a copy of
# the document that the page had. `n` counts the answers.
answers() {
    js "const had = JSON.stringify({ ...doc, graph: undefined }); let n = 0;
        fetch = async () => {
            const next = JSON.parse(had);
            n++;
            next.uptime += n;
            $1
            return new Response(JSON.stringify(next));
        };
        window.before = doc;" >/dev/null
    until_js 'two answers' 'doc !== before'
    js 'window.before = doc' >/dev/null
    until_js 'two answers' 'doc !== before'
}

rows='document.querySelectorAll("#table tbody tr")'

test_rows() {
    go tab=parties\&paused=1
    until_js 'parties' "$rows.length"
    is 'rows of parties' true "$(js "return $rows.length === Math.min(300, doc.parties.length)")"
    is 'paused' paused "$(js 'return document.getElementById("status").textContent')"
    go tab=parties\&paused=1\&rows=all
    is 'all parties' true "$(js "return $rows.length === doc.parties.length")"
    local tab
    for tab in channels stages scopes descriptors batchers; do
        go tab=$tab\&paused=1\&rows=all
        is "rows of $tab" true "$(js "return $rows.length === doc.$tab.length")"
    done
    is 'workers' true "$(js 'return doc.workers.length ===
        document.querySelectorAll("#workers tbody tr").length')"
}

# sorted_by COLUMN: prints aria-sort, and whether the cells' ids are in the order of their numbers.
sorted_by() {
    js "const head = [...document.querySelectorAll('#table th')];
        const i = head.findIndex(cell => cell.textContent === '$1');
        const order = head[i].ariaSort, sign = order === 'ascending' ? 1 : -1;
        const cells = [...$rows].map(row => Number(row.cells[i].textContent.replace(/\D/g, '')));
        return order + ' ' + cells.every((n, at) => !at || sign * (n - cells[at - 1]) >= 0)"
}

test_sorting() {
    go tab=channels\&paused=1
    is 'at first' 'ascending true' "$(sorted_by id)"
    js 'document.querySelectorAll("#table th button")[5].click()' >/dev/null
    is 'after a click' 'descending true' "$(sorted_by receivers)"
    js 'document.querySelector("#table th button").focus()' >/dev/null
    key '\uE007'
    is 'after Enter' 'ascending true' "$(sorted_by id)"
    key '\uE007'
    is 'after a second Enter' 'descending true' "$(sorted_by id)"
    is 'focus' id "$(js 'return document.activeElement.textContent')"
    until_js 'fragment' 'location.hash.includes("sort=-id")'
}

test_filter() {
    go tab=waits\&paused=1
    key 2
    is 'tab by its key' parties "$(js 'return choice.tab')"
    key /
    is 'focus' filter "$(js 'return document.activeElement.id')"
    text 'waiting'
    is 'filter' true "$(js "return $rows.length > 0 &&
        [...$rows].every(row => row.textContent.includes('waiting'))")"
    until_js 'fragment' 'location.hash.includes("filter=waiting")'
    text 'xyzzyp'
    is 'none' 0 "$(js "return $rows.length")"
    is 'a letter in the filter is no command' 1 "$(js 'return choice.paused')"
    go tab=channels\&sort=-rate\&filter=xyzzy
    is 'by fragment' 'channels -rate xyzzy descending 0' "$(js "return [choice.tab, choice.sort,
        document.getElementById('filter').value, [...document.querySelectorAll('#table th')]
        .find(cell => cell.textContent === 'rate').getAttribute('aria-sort'),
        $rows.length].join(' ')")"
}

test_stages() {
    go tab=graph
    answers 'next.stages[0].items += 100 * n;
        next.stages = [Object.assign(next.stages[0], { id: "p1", kind: "pipeline", name: "parse",
            n: 4, running: 3, window: 8, held: 8, in: [next.channels[0].id], inputs: 1,
            out: [next.channels[1].id], outputs: 3, scope: next.channels[0].scope })];'
    is 'a stage in the graph' true "$(js 'return [...document.querySelectorAll(".chip.stage")]
        .some(chip => chip.textContent.includes("3 of 4 run · 8 of 8 in flight · 100/s"))')"
    is 'its edges' 2 "$(js 'return document.querySelectorAll("#edges .items").length')"
    key 4
    is 'the list by its key' stages "$(js 'return choice.tab')"
    is 'a row' true "$(js "return $rows.length === 1 &&
        /^parse.*3 of 4.*8 of 8.*100.s.* and 2 more$/.test($rows[0].textContent)")"
    js "$rows[0].querySelector('button').click()" >/dev/null
    is 'details' true "$(js 'return document.getElementById("chosen").textContent === "parse p1"')"
    key 0
    is 'the last view by its key' counts "$(js 'return choice.tab')"
}

test_pause() {
    go tab=graph
    key p
    is 'paused' true "$(js 'return document.getElementById("pause").getAttribute("aria-pressed")')"
    is 'status' paused "$(js 'return document.getElementById("status").textContent')"
    js 'window.before = doc' >/dev/null
    key p
    until_js 'goes on' 'doc !== before'
}

test_details() {
    go tab=graph
    until_js 'chips' 'document.querySelector(".chip")'
    js 'document.querySelector(".chip").focus(); window.chip = document.activeElement.dataset.id' \
        >/dev/null
    key '\uE007'
    is 'chosen' true "$(js 'return choice.sel === chip && !document.getElementById("details").hidden
        && document.activeElement.id === "chosen"')"
    key '\uE00C'
    is 'closed' true "$(js 'return document.getElementById("details").hidden
        && document.activeElement.dataset.id === chip')"
}

# All names of the program are markup, and quotes, and long.
test_names() {
    local tab
    go tab=parties\&rows=all
    answers 'const evil = "<b>x</b><img src=x onerror=\"window.bad = 1\">&amp;\u0027\u{1F980}";
        next.program = evil;
        for (const list of [next.parties, next.channels, next.stages])
            for (const thing of list) Object.assign(thing, { name: evil + "y".repeat(300) });
        for (const party of next.parties) party.calls = [evil, evil];
        for (const worker of next.workers) worker.answered = false;'
    for tab in graph parties channels stages waits scopes stacks; do
        js "choose({ tab: '$tab', sel: doc.parties[0].id })" >/dev/null
        is "markup: $tab" true "$(js 'return document.body.textContent.includes("<b>x</b><img")
            && !document.querySelector("b, img") && window.bad === undefined')"
        is "markup: $tab: overflow" true "$(fits)"
    done
}

test_numbers() {
    go tab=channels
    answers 'next.channels = [{ id: "c1", name: "wraps", scope: null, items: 3, capacity: 3,
        closed: false, receivers: 0, senders: 2, passed: (2 ** 32 - 50 + 100 * n) % 2 ** 32 }];'
    until_js 'the rate' 'document.querySelector("#table tbody td.n:last-child").textContent ===
        "100/s"'
    is 'is shown' true "$(js 'return document.getElementById("notes").textContent
        .includes("wraps is full; senders that wait: 2")')"
    answers 'next.sampled = true; next.members = 1000123; next.parties = [];
        for (let i = 0; i < 4000; i++)
            next.parties.push({ id: `t${i}`, kind: "task", name: "many", code: null,
                scope: next.scopes[0].id, state: "waiting", since: null, more: null, worker: null,
                line: null, stack: null, stack_size: null, waits: [], calls: null });'
    js 'choose({ tab: "graph" })' >/dev/null
    is 'a chip of many' true "$(js 'return [...document.querySelectorAll(".chip")]
        .some(chip => chip.textContent.includes("many × 4,000"))')"
    is 'sampled' true "$(js 'return document.getElementById("facts").textContent
        .includes("4,000 of 1,000,123")')"
}

# The rate is that of the same batcher, though another one ends.
test_batchers() {
    go tab=batchers
    answers 'next.batchers = [1, 2].slice(n % 2).map(i => ({ id: `g${i}`, scope: "s1",
        name: `log ${i}`, closed: false, forming: 0, running: 0, batches: 1, items: 1000 / i }));'
    is 'the rate' 0 "$(js 'return doc.batchers.find(batcher => batcher.id === "g2").rate')"
}

# An answer that comes after a later one is not taken, and an exception does not end the looks.
test_order() {
    go tab=graph
    answers 'window.count = n;
        if (n === 3) await new Promise(done => setTimeout(done, 1500));
        if (n === 7) next.parties = null;'
    until_js 'a slow answer' 'count === 3'
    js 'at("said").textContent = ""; look()' >/dev/null
    until_js 'later answers' 'count === 6'
    is 'no other process' '' "$(js 'return at("said").textContent')"
    until_js 'answers after an exception' 'count > 8'
    post se/log '{"type": "browser"}' >/dev/null
}

test_sizes() {
    local look width height tab before=
    go tab=graph
    until_js 'rates' 'doc.rates.switches !== null'
    for look in 'light 1600 1000' 'dark 360 740' 'dark 1600 1000' 'light 360 740'; do
        read -r look width height <<<"$look"
        size "$width" "$height" "$look"
        js 'window.before = doc' >/dev/null
        until_js 'the next document' 'doc !== before'
        for tab in graph parties channels stages waits scopes stacks descriptors batchers counts; do
            js "choose({ tab: '$tab', sel: '' })" >/dev/null
            is "overflow: $tab, $width" true "$(fits)"
            is "contrast: $tab, $look" enough "$(contrast)"
            picture "$tab-$width-$look"
        done
        js 'choose({ tab: "graph", sel: doc.parties[0].id })' >/dev/null
        is "overflow: details, $width" true "$(fits)"
        picture "details-$width-$look"
        [ "$width" = 360 ] ||
            before+=" $(js 'return getComputedStyle(document.body).backgroundColor')"
    done
    [ "$(tr ')' '\n' <<<"$before" | grep -c rgb)" = 2 ] || fail "no colors: $before"
    [ "${before%)*)}" != "${before##*) }" ] || fail "light is as dark: $before"
    size 1600 1000 light
}

test_gone() {
    go tab=parties
    tool Network.enable '{}'
    local network='"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1'
    tool Network.emulateNetworkConditions "{\"offline\": true, $network}"
    until_js 'gone' 'document.getElementById("status").textContent.includes("gone")'
    is 'the last document stays' true "$(js "return $rows.length > 0")"
    picture gone
    tool Network.emulateNetworkConditions "{\"offline\": false, $network}"
    until_js 'back' 'document.getElementById("status").textContent === "live" &&
        document.getElementById("said").textContent.includes("again")'
}

# load WHAT NAME: clicks, and waits for the file.
load() {
    js "document.getElementById('$1').click()" >/dev/null
    for _ in $(seq 600); do
        compgen -G "$work/loaded/*.$2" >/dev/null && break
        sleep 0.1
    done
    [ -s "$(compgen -G "$work/loaded/*.$2")" ] || fail "no file of $1"
}

test_downloads() {
    go tab=graph
    mkdir "$work/loaded"
    tool Browser.setDownloadBehavior \
        "{\"behavior\": \"allow\", \"downloadPath\": \"$work/loaded\"}"
    load dump txt
    load dot dot
    js 'document.getElementById("seconds").value = .3' >/dev/null
    load trace trace.json
    is 'trace' Trace "$(js 'return document.getElementById("trace").textContent')"
}

# The log has a line for each request that fails; all else is an error of the page.
test_errors() {
    is 'errors' '' "$(post se/log '{"type": "browser"}' | sed 's/},{/\n/g' | grep SEVERE |
        grep -v '"source":"network"')"
}

begin
size 1600 1000 light
all=(rows sorting filter stages pause details names numbers batchers order sizes gone downloads)
for each in ${LOOK_TESTS:-"${all[@]}"}; do
    test_"$each"
    test_errors
done
[ $failed = 1 ] || echo 'all is well'
exit $failed
