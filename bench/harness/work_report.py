"""Turns the samples of the rows with work into tables and bars."""

from measure import Samples
from report import figure, ratio
from work_rows import (EIGHT, EIGHT_SPEED, HOG_WORST_MS, JOIN_MEDIAN_US, JOIN_WORST_US, LOOPS,
                       OPENMP, SHAPES, SIZES, SPEED_UPS, WAYS, WORK_ROWS)

P99 = "short p99 ns"
TURNS = "turns/us"
SCALED = ("ns/op", "CPU ns", "first ns", "median ns")
SCALED_ROWS = ("work_", "parallel_for_")


def same_work(samples):
    """The samples as if all items had had the same number of turns of the work's loop.

    Each process counts its own, and counts fewer when the machine is slow just then.
    """
    most = max((t for key, found in samples.items() if key[1] == TURNS for t in found.values),
               default=0)
    scaled = dict(samples)
    for key, found in samples.items():
        row, metric, *whose = key
        turns = samples.get((row, TURNS, *whose))
        if turns and metric in SCALED and row.startswith(SCALED_ROWS):
            values = [value * most / t for value, t in zip(found.values, turns.values)]
            scaled[key] = Samples(values, found.busy)
    return scaled


def table(head, rows):
    out = [f"| {' | '.join(head)} |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(out + [f"| {' | '.join(row)} |" for row in rows])


def spread(samples, unit):
    """Median, and least to most, in `unit` ns."""
    if not samples:
        return "–"
    return (f"{figure(samples.median / unit)} "
            f"({figure(samples.least / unit)}–{figure(samples.most / unit)})")


def on_cores(cores):
    return "one core" if cores == 1 else f"{cores} cores"


class WorkLine:
    """A shape with items of one size, by leat in one of its ways."""

    def __init__(self, report, shape, us, way):
        self.report, self.shape, self.us, self.way = report, shape, us, way
        self.name = f"{shape}_{us}us"
        self.label = f"{SHAPES[shape]}, {us:,} µs" + (f", {way}" if way else "")

    def median(self, peer, cores, metric="ns/op"):
        """For a peer that does not have this way, the median of the row without a way."""
        way = self.way if peer in ("leat", EIGHT) else None
        samples = self.report.of(self.name, metric, peer, cores, way)
        return samples.median if samples else None

    def part(self, peer, cores, other, other_cores, metric="ns/op"):
        mine = self.median(peer, cores, metric)
        other = self.median(other, other_cores, metric)
        return mine / other if mine and other else None

    def speed_up(self, peer):
        return self.part(peer, 1, peer, 2)


class WorkReport:
    def __init__(self, results):
        self.samples = same_work(results.samples)
        names = {row.name for row in WORK_ROWS}
        self.peers = list(dict.fromkeys(key[2] for key in self.samples if key[0] in names))
        lines = (WorkLine(self, shape, us, way) for shape in SHAPES
                 for way in (None, *WAYS.get(shape, ())) for us in SIZES)
        self.lines = [line for line in lines
                      if line.median("leat", 1) or line.median("leat", 2)]

    def of(self, row, metric, peer, cores, way=None):
        return self.samples.get((row, metric, peer, way, cores))

    def those_with(self, row, metric):
        return [p for p in self.peers if any(self.of(row, metric, p, cores) for cores in (1, 2))]

    def markdown(self):
        parts = [self.shapes(), self.everyone(), self.server(), self.hog(), self.join(),
                 self.loops(), self.turns(), self.bars()]
        parts = [part for part in parts if part]
        return "\n\n".join(["### With work", *parts]) if parts else ""

    # ---- tables ----

    def shapes(self):
        """leat beside Go."""
        if not self.lines:
            return ""
        head = ["wall time an item, µs", "leat, one core", "two cores", "speed-up",
                "8 workers on two", "Go, one core", "two cores", "speed-up", "leat / Go, one core",
                "two cores", "CPU on two: leat", "Go"]

        def us(x):
            return figure(x and x / 1e3)
        return table(head, ([
            line.label, us(line.median("leat", 1)), us(line.median("leat", 2)),
            ratio(line.speed_up("leat")), us(line.median(EIGHT, 2)),
            us(line.median("Go", 1)), us(line.median("Go", 2)), ratio(line.speed_up("Go")),
            ratio(line.part("leat", 1, "Go", 1)), ratio(line.part("leat", 2, "Go", 2)),
            us(line.median("leat", 2, "CPU ns")), us(line.median("Go", 2, "CPU ns"))]
            for line in self.lines))

    def everyone(self):
        lines = [line for line in self.lines if not line.way]
        peers = [p for p in self.peers
                 if any(line.median(p, 1) or line.median(p, 2) for line in lines)]
        if not lines:
            return ""

        def cell(line, peer):
            one, two = line.median(peer, 1), line.median(peer, 2)
            if not one and not two:
                return ""
            both = " → ".join(figure(x / 1e3) for x in (one, two) if x)
            return both + (f" ({one / two:.2f})" if one and two else "")
        return table(["µs an item: one core → two (speed-up)", *peers],
                     ([line.label, *(cell(line, peer) for peer in peers)] for line in lines))

    def server(self):
        row = "work_server_{}us"
        peers = [p for p in self.peers
                 if any(p in self.those_with(row.format(us), P99) for us in SIZES)]
        if not peers:
            return ""
        rows = [(us, cores) for us in SIZES for cores in (1, 2)
                if self.of(row.format(us), P99, "leat", cores)]
        return table(["p99 of short requests at half load, µs", *peers],
                     ([f"long ones {us:,} µs, {on_cores(cores)}",
                       *(spread(self.of(row.format(us), P99, peer, cores), 1e3) for peer in peers)]
                      for us, cores in rows))

    def hog(self):
        found = [(peer, cores) for peer in self.those_with("hog", "sleeps") for cores in (1, 2)
                 if self.of("hog", "sleeps", peer, cores)]
        if not found:
            return ""
        head = ["100 sleepers beside one that computes", "sleeps", "late, median, µs", "worst, µs"]
        return table(head,
                     ([f"{peer}, {on_cores(cores)}",
                       spread(self.of("hog", "sleeps", peer, cores), 1),
                       spread(self.of("hog", "late median ns", peer, cores), 1e3),
                       spread(self.of("hog", "late worst ns", peer, cores), 1e3)]
                      for peer, cores in found))

    def join(self):
        peers = self.those_with("join", "pairs")
        if not peers:
            return ""
        head = ["until another core begins what is ready", "pairs", "median, µs", "worst, µs"]
        return table(head,
                     ([peer, spread(self.of("join", "pairs", peer, 2), 1),
                       spread(self.of("join", "median ns", peer, 2), 1e3),
                       spread(self.of("join", "worst ns", peer, 2), 1e3)] for peer in peers))

    def loops(self):
        row = "parallel_for_{}ms"
        rows = [(ms, cores) for ms in LOOPS for cores in (1, 2)
                if self.of(row.format(ms), "median ns", "leat", cores)]
        if not rows:
            return ""
        whose = (("leat", None), ("leat", "singly"), ("OpenMP", None))
        head = ["loop of 1,000 rounds, ms"]
        head += [f"{peer + (', ' + way if way else '')}: {what}" for peer, way in whose
                 for what in ("first", "median")]
        return table([*head, "leat / OpenMP: first", "median"], ([
            f"{ms} ms, {on_cores(cores)}",
            *(spread(self.of(row.format(ms), f"{what} ns", peer, cores, way), 1e6)
              for peer, way in whose for what in ("first", "median")),
            *(ratio(self.to_openmp(ms, cores, what)) for what in ("first", "median"))]
            for ms, cores in rows))

    def to_openmp(self, ms, cores, what):
        mine, other = (self.of(f"parallel_for_{ms}ms", f"{what} ns", peer, cores)
                       for peer in ("leat", "OpenMP"))
        return mine.median / other.median if mine and other else None

    def turns(self):
        """The speed of the work loop, which should be the same for all peers."""
        by_peer = {}
        for (_row, metric, peer, _way, _cores), samples in self.samples.items():
            if metric == TURNS:
                by_peer.setdefault(peer, []).extend(samples.values)
        each = (f"{peer} {figure(min(values))}–{figure(max(values))}"
                for peer, values in by_peer.items())
        return f"Turns of the work's loop in a microsecond: {', '.join(each)}." if by_peer else ""

    # ---- bars ----

    def bars(self):
        def those(value, holds, lines=tuple(self.lines)):
            return [(x.label, v, holds(v)) for x in lines if (v := value(x)) is not None]

        def speed_up(line):
            return line.speed_up("leat")
        rules = [
            *((f"On two cores at least {least:g} times as fast as on one, items of {us:,} µs",
               those(speed_up, lambda v, b=least: v >= b, [x for x in self.lines if x.us == us]))
              for us, least in SPEED_UPS.items()),
            ("On two cores never slower than on one", those(speed_up, lambda v: v >= 1)),
            *((f"No slower than Go, {on_cores(cores)}",
               those(lambda x, c=cores: x.part("leat", c, "Go", c), lambda v: v <= 1))
              for cores in (1, 2)),
            (f"With 8 workers on two cores at least {EIGHT_SPEED:g} of the speed with 2",
             those(lambda x: x.part("leat", 2, EIGHT, 2), lambda v: v >= EIGHT_SPEED)),
            ("The server's p99 of short requests at most Go's", self.p99_bars()),
            ("hog and join", self.waiting_bars()),
            (f"parallel_for at most {OPENMP:g} of OpenMP's time", self.loop_bars()),
        ]
        rules = [(what, found) for what, found in rules if found]
        if not rules:
            return ""
        lines = (self.rule(what, found) for what, found in rules)
        return "\n".join(["**Bars with work**", "", *lines])

    @staticmethod
    def rule(what, found):
        text = f"- {what}: {sum(holds for *_, holds in found)} of {len(found)} hold."
        for label, value, holds in found:
            if not holds:
                shown = value if isinstance(value, str) else f"{value:.2f}"
                text += f"\n  - not {label}: {shown}"
        return text

    def p99_bars(self):
        found = []
        for us in SIZES:
            for cores in (1, 2):
                mine, gos = (self.of(f"work_server_{us}us", P99, peer, cores)
                             for peer in ("leat", "Go"))
                if mine and gos:
                    part = mine.median / gos.median
                    found.append((f"long ones {us:,} µs, {on_cores(cores)}", part, part <= 1))
        return found

    def waiting_bars(self):
        found = []

        def at_most(what, row, metric, ns):
            samples = self.of(row, metric, "leat", 2)
            if samples and ns:
                found.append((f"{what}, at most {figure(ns / 1e3)} µs",
                              f"{figure(samples.median / 1e3)} µs", samples.median <= ns))

        def or_the_systems(ns, limit):
            """A bar for the worst, or what a thread alone has on this machine, if that is more."""
            samples = self.of(limit, "ns/op", "limits", 2)
            return max(ns, samples.median) if samples else ns
        gos = self.of("hog", "late median ns", "Go", 2)
        at_most("hog, worst", "hog", "late worst ns",
                or_the_systems(1e6 * HOG_WORST_MS, "late_sleeper"))
        at_most("hog, median, as Go", "hog", "late median ns", gos and gos.median)
        at_most("join, median", "join", "median ns", 1e3 * JOIN_MEDIAN_US)
        at_most("join, worst", "join", "worst ns",
                or_the_systems(1e3 * JOIN_WORST_US, "late_partner"))
        return found

    def loop_bars(self):
        return [(f"{ms} ms, {what}, {on_cores(cores)}", part, part <= OPENMP)
                for ms in LOOPS for cores in (1, 2) for what in ("first", "median")
                if (part := self.to_openmp(ms, cores, what)) is not None]
