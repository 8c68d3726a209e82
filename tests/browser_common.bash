# browser_common.bash: functions that the tests in a headless Chromium share; sourced, not run. They
# speak WebDriver over curl. A test calls `begin` first.
# These tests take half a minute each, so that they run only with LEAT_LONG.
set -u
[ -n "${LEAT_LONG-}" ] || { echo 'skipped: without LEAT_LONG'; exit 77; }
for needed in chromium chromedriver curl; do
    command -v $needed >/dev/null || { echo "skipped: no $needed"; exit 77; }
done
work=$(mktemp -d)
pictures= # a directory, if pictures are wanted
driver=
session=
# Chromium ends with its session, some moments later.
trap '[ -z "$session" ] || curl -s -X DELETE "$session" >/dev/null
    [ -z "$driver" ] || { kill "$driver"; wait "$driver" 2>/dev/null; }
    for _ in 1 2 3 4 5; do rm -rf "$work" 2>/dev/null && break; sleep 0.2; done' EXIT
failed=0

fail() {
    printf '%.600s\n' "FAILED: $*"
    failed=1
}

# is WHAT WANTED GOT
is() {
    [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

# post PATH BODY: prints the answer's value: a text as JSON has it, but without its quotes.
post() {
    local answer
    answer=$(curl -s -H 'Content-Type: application/json' --data-binary "$2" "$session/$1")
    answer=${answer#'{"value":'}
    answer=${answer%\}}
    answer=${answer#\"}
    printf '%s\n' "${answer%\"}"
}

# tool NAME PARAMETERS: a command of Chromium's own.
tool() {
    post goog/cdp/execute "{\"cmd\": \"$1\", \"params\": $2}" >/dev/null
}

# script PATH SCRIPT: prints what it returns.
script() {
    local text=${2//\\/\\\\}
    text=${text//\"/\\\"}
    post "execute/$1" "{\"script\": \"${text//$'\n'/\\n}\", \"args\": []}"
}
js() {
    script sync "$1"
}

# until_js WHAT EXPRESSION: the page waits until it is true, a minute at most.
until_js() {
    local got
    got=$(script async "const done = arguments[arguments.length - 1], begun = Date.now();
        (function look() {
            if ($2) done('now');
            else if (Date.now() - begun > 60000) done(document.body.innerText.slice(0, 1000));
            else setTimeout(look, 20);
        })();")
    [ "$got" = now ] || { fail "$1: never true: $2: $got"; exit 1; }
}

# Chromium drops what is pressed before a page's first picture.
until_painted() {
    until_js 'painted' 'performance.getEntriesByName("first-contentful-paint").length'
}

# key KEY: presses and releases it. \uE007 is Enter, \uE00C Escape, \uE004 Tab.
key() {
    post actions '{"actions": [{"type": "key", "id": "keyboard", "actions": [
        {"type": "keyDown", "value": "'"$1"'"}, {"type": "keyUp", "value": "'"$1"'"}]}]}' >/dev/null
}

# text TEXT: presses the keys of letters and digits.
text() {
    local i
    for ((i = 0; i < ${#1}; i++)); do
        key "${1:i:1}"
    done
}

# size WIDTH HEIGHT light|dark
size() {
    tool Emulation.setDeviceMetricsOverride \
        "{\"width\": $1, \"height\": $2, \"deviceScaleFactor\": 1, \"mobile\": false}"
    tool Emulation.setEmulatedMedia "{\"features\":
        [{\"name\": \"prefers-color-scheme\", \"value\": \"$3\"}]}"
}

# picture NAME: of the window.
picture() {
    [ -n "$pictures" ] || return
    mkdir -p "$pictures"
    curl -s "$session/screenshot" | sed 's/.*:"//; s/".*//' | base64 -d >"$pictures/$1.png"
}

begin() {
    : >"$work/driver"
    chromedriver --port=0 >"$work/driver" 2>&1 &
    driver=$!
    local port=
    for _ in $(seq 600); do
        port=$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "$work/driver")
        [ -z "$port" ] || break
        sleep 0.1
    done
    [ -n "$port" ] || { cat "$work/driver"; exit 1; }
    session=http://127.0.0.1:$port
    local id
    id=$(post session '{"capabilities": {"alwaysMatch": {
        "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": 120000},
        "goog:chromeOptions": {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--user-data-dir='"$work/profile"'"]}}}}')
    id=${id##*\"sessionId\":\"}
    session=$session/session/${id%%\"*}
}

# The page is not wider than the window.
fits() {
    js 'return document.documentElement.scrollWidth <= innerWidth'
}

# The least contrast of a text and its background, times 100; texts that are dimmed do not count.
contrast() {
    js 'const canvas = document.createElement("canvas").getContext("2d");
        const known = new Map(); // to read pixels back takes long, and a page has few colors
        const light = colors => {
            const key = colors.join();
            if (!known.has(key)) known.set(key, painted(colors));
            return known.get(key);
        };
        const painted = colors => {
            canvas.clearRect(0, 0, 1, 1);
            for (const color of colors) {
                canvas.fillStyle = color;
                canvas.fillRect(0, 0, 1, 1);
            }
            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(c => c / 255)
                .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                .reduce((all, c, i) => all + c * [0.2126, 0.7152, 0.0722][i], 0);
        };
        const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        let least = 21, of = "";
        while (nodes.nextNode()) {
            const parent = nodes.currentNode.parentElement;
            if (!nodes.currentNode.data.trim() || !parent.checkVisibility() ||
                parent.closest(".dim, script, style")) continue;
            const behind = [];
            for (let node = parent; node; node = node.parentElement)
                behind.unshift(getComputedStyle(node).backgroundColor);
            const pair = [light(behind), light([...behind, getComputedStyle(parent).color])];
            const now = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
            if (now < least) [least, of] = [now, nodes.currentNode.data.trim()];
        }
        return least >= 4.5 ? "enough" : `${least} of ${of}`'
}
