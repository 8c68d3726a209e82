#!/usr/bin/env bash
# A trace has the form that its viewers expect: JSON; on each track slices that do not overlap; a
# flow with two ends for each item, each end within a slice; scopes that begin and end.
set -euo pipefail

command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

for workers in 1 2 4; do
    LEAT_WORKERS=$workers LEAT_TRACE=$folder/trace.json timeout 60 "$LEAT_PROGRAMS/traced"
    python3 - "$folder/trace.json" "$workers" <<'PYTHON' || failed=1
import bisect, collections, json, sys

events = json.load(open(sys.argv[1]))["traceEvents"]
# As viewers do: a scope that has moved may end on a track that comes before that of its beginning.
events.sort(key=lambda e: e.get("ts", 0))
workers = int(sys.argv[2])
slices, flows = collections.defaultdict(list), collections.defaultdict(list)
scopes = collections.Counter()
names = collections.Counter()
for e in events:
    assert e["pid"] == 1 and 1 <= e["tid"] <= workers + 1, e
    if e["ph"] == "X":
        assert e["ts"] >= 0 and e["dur"] >= 0 and e["tid"] <= workers, e
        slices[e["tid"]].append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)))
        names[e["name"].split(" ")[0]] += 1
    elif e["ph"] in "sf":
        flows[e["id"]].append(e)
    elif e["ph"] in "be":
        scopes[e["id"]] += 1 if e["ph"] == "b" else -1
        assert scopes[e["id"]] in (0, 1), e
    else:
        assert e["ph"] == "M", e
for track in slices.values():
    track.sort()
    assert all(a[1] <= b[0] for a, b in zip(track, track[1:])), "slices overlap"
assert len(scopes) == 3 and not any(scopes.values()), scopes
for name in "main", "sends", "receives", "receives_many", "selects", "step":
    assert names[name] > 0, (name, names)
items = collections.Counter()
for id, ends in flows.items():
    assert [e["ph"] for e in ends] == ["s", "f"], ends
    assert ends[0]["ts"] <= ends[1]["ts"] and ends[1]["bp"] == "e", ends
    for e in ends:
        at, track = round(e["ts"] * 1000), slices[e["tid"]]
        i = bisect.bisect_right(track, (at, 1 << 62)) - 1
        assert i >= 0 and track[i][0] <= at <= track[i][1], e
    items[ends[0]["name"]] += 1
assert items == {'straight "0"\n': 100, "buffered": 100, "selected": 100, "alone": 10000}, items
PYTHON
done

# A file that cannot be created is reported; an empty name means no trace.
status=0
LEAT_TRACE=$folder/none/trace.json "$LEAT_PROGRAMS/traced" || status=$?
[ $status = 1 ] || { echo "no such folder: status $status"; failed=1; }
LEAT_TRACE='' "$LEAT_PROGRAMS/traced" || { echo "an empty name is not none"; failed=1; }
exit $failed
