#!/usr/bin/env bash
# No room of the library uses a higher floor, or another room of its own: neither by an #include nor
# a reference that the linker resolves. Rooms that are built on the public headers use only a few
# others. docs/architecture.md draws the floors and has the list. And a header declares what its own
# file defines, or files of its room without a header; only a header for a whole room,
# or for the rooms that are built on the public headers, declares more.
set -eu
export LC_ALL=C
cd "$LEAT_SOURCE_DIR"
command -v python3 >/dev/null || { echo 'skipped: no python3'; exit 77; }

objects=$LEAT_BUILD_DIR/CMakeFiles/leat-objects.dir/src
[ -d "$objects" ] || { echo "skipped: no objects in $objects"; exit 77; }

find "$objects" -name '*.o' -exec nm -A {} + | python3 -c '
import glob, os, re, sys

rooms = sorted(os.path.basename(path) for path in glob.glob("src/*"))
floor = {}
for line in open("docs/architecture.md", encoding="utf-8"):
    drawn = re.match(r" ?(\d+)  (\w+) ", line)
    if drawn:
        for word in line.split():
            if word in rooms:
                floor[word] = int(drawn[1])

failures = [f"{room} is on no floor" for room in rooms if room not in floor]

text = open("docs/architecture.md", encoding="utf-8").read()
listed = re.search(r"In (`\w+`(?: and `\w+`)*) files\ninclude (.*?)\(floors.sh", text, re.S)
built = re.findall(r"`(\w+)`", listed[1])
open_to_all = set(re.findall(r"`(\w+/\w+\.h)`", listed[2]))

def is_inside(room, other, header):
    return (room in built and other not in built + ["base"]
            and f"{other}/{header}" not in open_to_all)

def use(room, by, other, what):
    if room != other and floor[other] >= floor[room]:
        failures.append(f"{room}/{by} uses {other}, on floor {floor[other]}: {what}")

if not failures:
    includes = 0
    for path in glob.glob("src/*/*"):
        _, room, name = path.split("/")
        for line in open(path, encoding="utf-8"):
            found = re.match(r"#include \"(\w+)/(\w+\.h)\"", line)
            if found:
                includes += 1
                use(room, name, found[1], line.strip())
                if is_inside(room, found[1], found[2]):
                    failures.append(f"{room}/{name} uses the inside of {found[1]}: {found[2]}")
    defined, wanted, files = {}, [], {}
    for line in sys.stdin:
        found = re.match(r".*/src/(\w+)/([\w.]+)\.o:\S*\s+(\w) (\w+)$", line)
        if found and found[3] == "U":
            wanted.append((found[1], found[2], found[4]))
        elif found and found[3].isupper():
            defined[found[4]] = found[1]
            files[found[4]] = f"{found[1]}/{os.path.splitext(found[2])[0]}"
    references = [(room, name, symbol) for room, name, symbol in wanted if symbol in defined]
    for room, name, symbol in references:
        use(room, name, defined[symbol], symbol)
    declared = 0
    for path in glob.glob("src/*/*.h"):
        _, room, name = path.split("/")
        if name == f"{room}.h" or f"{room}/{name}" in open_to_all:
            continue
        for line in open(path, encoding="utf-8"):
            found = re.match(r"(?!static|typedef|LT_INLINE)[a-zA-Z].*?\b(lt_\w+)[(;[]", line)
            where = files.get(found[1], "") if found else ""
            declared += where != ""
            if where and f"src/{where}.h" != path and (os.path.exists(f"src/{where}.h") or
                                                       not where.startswith(f"{room}/")):
                failures.append(f"{room}/{name} declares {found[1]}, which {where} defines")
    if includes < 100 or len(references) < 500 or declared < 250:
        failures.append(f"found only {includes} includes, {len(references)} references and "
                        f"{declared} declarations")

print("\n".join(failures) or f"{includes} includes, {len(references)} references: none upwards; "
      f"{declared} declarations")
sys.exit(bool(failures))
'
