#!/usr/bin/env bash
# A program that is looked at by LEAT_LOOK: what the document says of it, and which addresses there
# are. A look does not hide a deadlock.
set -euo pipefail

command -v python3 >/dev/null || { echo 'skipped: no python3'; exit 77; }
folder=$(mktemp -d)
trap 'exec 9>&-; rm -rf "$folder"' EXIT
cd "$folder"
failed=0
fail() {
    echo "$*"
    failed=1
}

# start SETTING… PROGRAM [ARGUMENT]: runs until descriptor 9 is closed; $pid is the program's.
start() {
    [ -p input ] || mkfifo input
    timeout 120 env "$@" <input >out 2>err &
    pid=$!
    exec 9>input
}
# stop: ends the program, which must end well.
stop() {
    local status=0
    exec 9>&-
    wait "$pid" || status=$?
    [ $status = 0 ] || fail "ends with $status: $(cat err)"
}
# wait_for COMMAND…: a minute at most.
wait_for() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { fail "waited a minute for $*"; return 0; }
        sleep 0.02
    done
}

# document ADDRESS CODE: runs the code with the document as `d`, until it is true; a minute at most.
# A name or a place of a list that the document does not have makes the code false.
document() {
    [ $failed = 0 ] || return 0
    python3 - "$@" <<'PYTHON' || failed=1
import http.client, json, socket, sys, time

class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(address[5:])

address, code = sys.argv[1], sys.argv[2]
for _ in range(600):
    local = address.startswith("unix:")
    client = Local("localhost") if local else http.client.HTTPConnection(address)
    client.request("GET", "/json?stacks=1")
    answer = client.getresponse()
    text = answer.read()
    assert answer.status == 200, (answer.status, text)
    d = json.loads(text)
    named = {x["name"].split(" (")[0]: x for x in d["parties"] + d["channels"] if x["name"]}
    try:
        if eval(code):
            sys.exit(0)
    except LookupError:  # what the code asks for is not there yet
        pass
    time.sleep(0.1)
print("never true:", code)
print(text.decode()[:4000])
sys.exit(1)
PYTHON
}

at=unix:$folder/socket
start LEAT_LOOK="$at" "$LEAT_PROGRAMS/looked"
wait_for [ -S socket ]
document "$at" 'd["program"] == "looked" and not d["sampled"] and len(d["workers"]) == 2'
document "$at" 'len([p for p in d["parties"] if (p["name"] or "").startswith("idles (")]) >= 64'
document "$at" '(named["never"]["receivers"], named["never"]["senders"]) == (67, 0)'
document "$at" '[named["full"][key] for key in ("items", "capacity", "senders")] == [8, 8, 1]'
document "$at" 'named["shut \x1b[31m"]["closed"] and not named["full"]["closed"]'
picks='named["picks <b>one</b> & \"quotes\" \u2713"]["waits"]'
document "$at" "[w['for'] for w in $picks] == ['receive', 'send']"
document "$at" "$picks[1]['of'] == named['full']['id']"
document "$at" 'named["naps"]["state"] == "waiting" and 3000 < named["naps"]["more"] <= 3600'
document "$at" 'named["words"]["passed"] > 10 and named["words"]["capacity"] == 0'
document "$at" 'named["step"]["kind"] == "block" and named["step"]["line"] > 0'
document "$at" \
    'named["idles"]["scope"] in [s["id"] for s in d["scopes"] if s["ends"] and s["members"] == 67]'
document "$at" 'named["inner"]["waits"][0]["of"] in [s["id"] for s in d["scopes"] if s["joins"]]'
stage='[s for s in d["stages"] if s["name"] == "doubles"][0]'
document "$at" "($stage['kind'], $stage['n'], $stage['window']) == ('pipeline', 2, 3)"
document "$at" "$stage['items'] > 10 and $stage['in'] == [named['words']['id']]"
document "$at" "$stage['out'][0] in [s['in'][0] for s in d['stages'] if s['kind'] == 'merge']"
document "$at" 'len([s for s in d["stages"] if s["kind"] == "merge" and s["n"] is None]) == 2'
document "$at" 'all(s["block"] in [p["id"] for p in d["parties"]] for s in d["stages"])'
document "$at" '[b["name"] for b in d["batchers"]] == ["log"] and d["batchers"][0]["items"] > 10'
document "$at" 'sorted(x["readers"] for x in d["descriptors"]) == [0, 1]'
document "$at" 'all(p["since"] is None and p["calls"] is None for p in d["parties"])'
stop
[ ! -e socket ] || fail 'the file of the socket stays'

# TSan's own thread may be the one that gets the signal for the stack.
if [ "${LEAT_SANITIZE-}" != thread ]; then
    start LEAT_LOOK="$at" LEAT_WATCH=waits,stacks "$LEAT_PROGRAMS/looked" busy
    wait_for [ -S socket ]
    document "$at" 'named["computes"]["state"] == "running" and named["computes"]["calls"]'
    document "$at" \
        '[w["runs"] for w in d["workers"] if not w["answered"]] == [named["computes"]["id"]]'
    document "$at" 'd["watches"] == {"waits": True, "stacks": True}'
    document "$at" 'any(p["since"] is not None for p in d["parties"])'
    stop
fi

# The system chooses the port; what others reach has a token.
start LEAT_LOOK=127.0.0.1:0 "$LEAT_PROGRAMS/looked"
wait_for grep -q '^leat: look at http://127.0.0.1:[0-9]*/$' err
port=$(sed -n 's|^leat: look at http://127.0.0.1:\([0-9]*\)/$|\1|p' err)
document "127.0.0.1:$port" 'd["program"] == "looked"'

# A second program cannot have the address: it says so, and goes on.
text=$(LEAT_LOOK=127.0.0.1:$port "$LEAT_PROGRAMS/traced" 2>&1) || fail "taken: status $?"
[ "$text" = "leat: LEAT_LOOK: 127.0.0.1:$port: Address already in use" ] || fail "taken: $text"
stop

start LEAT_LOOK=:0 LEAT_LOOK_TOKEN=secret "$LEAT_PROGRAMS/looked"
wait_for grep -q '^leat: look at http://0.0.0.0:[0-9]*/$' err
stop
for wrong in LEAT_LOOK=nowhere LEAT_LOOK=localhost:80 LEAT_LOOK=unix: LEAT_LOOK=:0; do
    status=0
    text=$(env "$wrong" "$LEAT_PROGRAMS/traced" 2>&1) || status=$?
    [ $status != 0 ] || fail "$wrong: status 0"
    grep -q '^leat: LEAT_LOOK=.*: wanted is an address' <<<"$text" || fail "$wrong: says $text"
done

# TSan has its own thread, which leat does not know, so there is never a report.
if [ "${LEAT_SANITIZE-}" != thread ]; then
    ulimit -c 0
    status=0
    text=$({ LEAT_LOOK="$at" LEAT_DEADLOCK=abort timeout 60 "$LEAT_PROGRAMS/watched" deadlock \
        2>&1; } 2>/dev/null) || status=$?
    [ $status = 134 ] || fail "deadlock: status $status: $text"
    grep -q '^leat: deadlock' <<<"$text" || fail "deadlock: $text"
fi

exit $failed
