"""Draws the tables of bench/run as a picture: each row's time or memory as a part of Go's.

The picture is drawn from the tables themselves, so the two agree, and the figures that
docs/performance.md has are enough to draw it again. It is narrow, and its text large: a phone that
shrinks it to 320 px shows letters of 10 px. It is light or dark as its reader's system is.
"""

import html
import math
import re

WIDTH = 480
TEXT = 16      # the size of all text
LEFT, RIGHT = 34, 18
TRACK = 15     # the height of a row's strip for one number of cores
LABEL = 20     # the height of a row's label
GAP = 5        # between rows
KEY = 21       # the height of a line of the key
ROUNDS = (1, 2, 5)

# Series -> its color, and the shape of its mark. Peers are in the order of the tables.
LEAT = {"leat": ("a", "disc"), "leat, blocks": ("b", "dot"), "leat, many": ("c", "square"),
        "leat, spread": ("c", "diamond"), "leat, exact": ("c", "up"), "leat, one": ("b", "square")}
PEERS = {"tokio": ("d", "ring"), "tokio (1 thread)": ("d", "cross"), "Boost.Fiber": ("e", "box"),
         "flume on tokio": ("f", "rhomb"), "core.async": ("g", "tri"),
         "crossbeam": ("h", "plus"), "flume": ("f", "cross"), "Rust's std": ("e", "plus"),
         "pthread": ("h", "ring")}
SERIES = {**LEAT, **PEERS}
OTHER = ("h", "tri")  # a peer that is new

LIGHT = {"ink": "#1c2128", "faint": "#59636e", "line": "#d5dae0", "paper": "#ffffff",
         "go": "#0a58b8", "a": "#d1242f", "b": "#d2691e", "c": "#8c1a1b", "d": "#0a6ebd",
         "e": "#1a7f37", "f": "#8250df", "g": "#00767a", "h": "#57606a"}
DARK = {"ink": "#dde3ea", "faint": "#9aa5b1", "line": "#343c45", "paper": "#14181d",
        "go": "#7db4ff", "a": "#ff5c5c", "b": "#ffa657", "c": "#ff9bce", "d": "#6cb6ff",
        "e": "#57d364", "f": "#c297ff", "g": "#39d0d6", "h": "#b0bac5"}

SHAPES = {  # filled ones are leat's
    "disc": '<circle r="6"/>',
    "dot": '<circle r="4"/>',
    "square": '<path d="M-4.5-4.5h9v9h-9z"/>',
    "diamond": '<path d="M0-6 6 0 0 6-6 0z"/>',
    "up": '<path d="M0-6 6 5H-6z"/>',
    "ring": '<circle r="4"/>',
    "box": '<path d="M-4-4h8v8h-8z"/>',
    "rhomb": '<path d="M0-5 5 0 0 5-5 0z"/>',
    "tri": '<path d="M0-5 5 4H-5z"/>',
    "cross": '<path d="M-4-4 4 4M-4 4 4-4"/>',
    "plus": '<path d="M-5 0H5M0-5V5"/>',
}
FILLED = ("disc", "dot", "square", "diamond", "up")


# ---- the figures ----

def number(cell):
    """The first figure of a cell of the tables, or None."""
    found = re.match(r"[\d,]+(\.\d+)?", cell)
    return float(found[0].replace(",", "")) if found else None


def tables(markdown):
    """Heading -> its table, as lists of cells."""
    out, heading = {}, ""
    for line in markdown.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|"):
            cells = line.strip().strip("|").split("|")
            out.setdefault(heading, []).append([cell.strip() for cell in cells])
    return out


def cores_of(heading):
    """(number of cores, whether all peers are in the table), or None."""
    found = re.fullmatch(r"(One|\d+) cores?(, everybody.*)?", heading)
    return found and (1 if found[1] == "One" else int(found[1]), bool(found[2]))


def figures(markdown):
    """{row: {cores: {series: part of Go's}}}, in the order of the tables."""
    out = {}
    found = {key: table for heading, table in tables(markdown).items()
             if (key := cores_of(heading))}
    for (cores, everybody), (head, _, *lines) in sorted(found.items(), key=lambda t: not t[0][1]):
        for label, *cells in lines:
            if everybody:
                medians = dict(zip(head[1:], map(number, cells)))
                go = medians.pop("Go", None)
                parts = {name: m / go for name, m in medians.items() if m and go}
                if parts:
                    out.setdefault(label, {})[cores] = parts
                continue
            # Each way of leat's is a line, labelled with the row and the way.
            row, _, way = label.rpartition(", ")
            name = f"leat, {way}"
            part = out.get(row, {}).get(cores)
            if part is not None and name in LEAT and number(cells[2]):
                part[name] = number(cells[0]) / number(cells[2])
    return out


# ---- the drawing ----

def least_and_most(rows):
    """Round figures around all parts."""
    parts = [part for row in rows.values() for on in row.values() for part in on.values()]
    least, most = min(parts), max(parts)
    steps = [r * 10.0**e for e in range(-9, 10) for r in ROUNDS]
    return max(s for s in steps if s <= least), min(s for s in steps if s >= most)


def style():
    def colors(theme):
        rules = [f".{name}{{color:{theme[name]}}}" for name in "abcdefgh"]
        return "".join([*rules, f"text{{fill:{theme['ink']}}}", f".n{{fill:{theme['faint']}}}",
                        f".l{{stroke:{theme['line']}}}", f".go{{stroke:{theme['go']}}}",
                        f".p{{fill:{theme['paper']}}}"])
    return (f"<style>text{{font:{TEXT}px system-ui,sans-serif}}.t{{font-weight:600}}"
            ".m{text-anchor:middle}.full{fill:currentColor}"
            ".open{fill:none;stroke:currentColor;stroke-width:1.7}"
            f"{colors(LIGHT)}@media(prefers-color-scheme:dark){{{colors(DARK)}}}</style>")


def text(x, y, what, kind=""):
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{html.escape(what)}</text>'


class Picture:
    def __init__(self, markdown):
        self.rows = figures(markdown)
        self.least, self.most = least_and_most(self.rows)
        found = {name for row in self.rows.values() for on in row.values() for name in on}
        self.series = [n for n in SERIES if n in found] + sorted(found - set(SERIES))
        self.out = []
        self.y = 0

    def x(self, part):
        share = math.log(part / self.least) / math.log(self.most / self.least)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def mark(self, x, y, name):
        color, shape = SERIES.get(name, OTHER)
        self.out.append(f'<use href="#{shape}" x="{x:g}" y="{y:g}" class="{color}"/>')

    def title(self):
        self.y = 24
        self.out.append(text(LEFT, self.y, "Time or memory as a part of Go's: left is better", "t"))
        self.y += 22
        what = "Each row has a strip for one core and one for two."
        self.out.append(text(LEFT, self.y, what, "n"))
        self.y += 12

    def key(self):
        half = (WIDTH - LEFT) / 2
        columns = [[n for n in self.series if n in LEAT], [n for n in self.series if n not in LEAT]]
        columns[0] = [*columns[0], None]
        for i, names in enumerate(columns):
            for j, name in enumerate(names):
                x, y = LEFT + 8 + i * half, self.y + (j + 1) * KEY
                if name:
                    self.mark(x, y - 5, name)
                else:
                    self.out.append(f'<path class="go" stroke-width="2" d="M{x:g} {y - 13}v16"/>')
                tasks = "leat, tasks" if name == "leat" else name
                self.out.append(text(x + 14, y, tasks or "1: Go"))
        self.y += KEY * max(map(len, columns)) + 14

    def axis(self, y):
        for exponent in range(-9, 10):
            if self.least <= 10.0**exponent <= self.most:
                self.out.append(text(self.x(10.0**exponent), y, f"{10.0**exponent:g}", "n m"))

    def grid(self, top, bottom):
        """Behind the rows: a line for each power of ten, and a bolder one for Go."""
        for exponent in range(-9, 10):
            if self.least <= 10.0**exponent <= self.most:
                kind = 'class="go" stroke-width="2"' if exponent == 0 else 'class="l"'
                x = self.x(10.0**exponent)
                self.out.append(f'<path {kind} d="M{x:g} {top}V{bottom}"/>')

    def row(self, label, strips):
        """The label hides the grid's lines below it."""
        wide = min(WIDTH - LEFT, len(label) * TEXT * 0.54)
        self.out.append(f'<rect class="p" x="{LEFT - 4}" y="{self.y + 2}" width="{wide:g}"'
                        f' height="{LABEL - 3}"/>')
        self.out.append(text(LEFT, self.y + 16, label))
        self.y += LABEL
        for cores, parts in sorted(strips.items()):
            middle = self.y + TRACK / 2
            self.out.append(text(16, middle + 5, str(cores), "n"))
            self.out.append(f'<path class="l" d="M{LEFT} {middle:g}H{WIDTH - RIGHT}"/>')
            # leat's marks are drawn last, so that they are on top.
            for name in sorted(parts, key=lambda n: (n in LEAT, n == "leat")):
                self.mark(self.x(parts[name]), middle, name)
            self.y += TRACK
        self.y += GAP

    def svg(self):
        self.title()
        self.key()
        self.axis(self.y + 12)
        top = self.y = self.y + 20
        bottom = top + sum(LABEL + GAP + TRACK * len(strips) for strips in self.rows.values())
        self.grid(top, bottom)
        for label, strips in self.rows.items():
            self.row(label, strips)
        self.axis(self.y + 14)
        height = self.y + 26
        shapes = "".join(
            f'<g id="{name}" class="{"full" if name in FILLED else "open"}">{shape}</g>'
            for name, shape in SHAPES.items())
        return "\n".join((
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}">',
            "<title>leat and its peers: time or memory as a part of Go's</title>",
            style(),
            f"<defs>{shapes}</defs>", f'<rect class="p" width="{WIDTH}" height="{height}"/>',
            *self.out, "</svg>", ""))


def draw(markdown):
    """The picture as SVG, or "" if no row has a peer."""
    return Picture(markdown).svg() if figures(markdown) else ""
