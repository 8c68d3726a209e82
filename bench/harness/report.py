"""Turns samples into tables."""

from rows import LIMITS, ROWS, SECOND_CORE


def figure(x):
    if x is None:
        return "–"
    if x >= 1000:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def ratio(x):
    return "–" if x is None else f"{x:.2f}"


class Line:
    """A row of the table: leat in one of its ways, on `cores` cores, beside the peers."""

    def __init__(self, results, row, way, cores, peers):
        self.row, self.way, self.cores = row, way, cores
        self.leat = results.of(row, "leat", cores, way)
        self.peers = {p: s for p in peers if (s := results.of(row, p, cores))}
        self.go = self.peers.get("Go")
        self.best = min(self.peers, key=lambda p: self.peers[p].median, default=None)
        alone = results.of(row, "leat", 1, way)
        self.to_one = self._to(alone) if cores > 1 else None

    def _to(self, other):
        return self.leat.median / other.median if other and other.median > 0 else None

    to_go = property(lambda self: self._to(self.go))
    to_best = property(lambda self: self._to(self.peers[self.best]) if self.best else None)
    label = property(lambda self: self.row.label(self.way))


class Report:
    def __init__(self, results, notes, more=()):
        """`more`: parts in Markdown from other reports."""
        self.results, self.notes, self.more = results, notes, more
        mine = {row.name for row in ROWS}
        names = dict.fromkeys(key[2] for key in results.samples if key[0] in mine)
        self.peers = [name for name in names if name != "leat"]
        self.cores = sorted({key[4] for key in results.samples if key[2] == "leat"})
        self.lines = [line for cores in self.cores for row in ROWS for way in (None, *row.ways)
                      if (line := Line(results, row, way, cores, self.peers)).leat]

    def on(self, cores):
        return [line for line in self.lines if line.cores == cores]

    # ---- TSV ----

    def tsv(self):
        out = ["row\tmetric\tpeer\tway\tcores\tmedian\tmin\tmax\tsamples\tcpu/wall\tto Go\tto best"
               "\tbest"]
        leat = {(line.row.name, line.row.metric, line.way, line.cores): line for line in self.lines}
        for (name, metric, peer, way, cores), s in self.results.samples.items():
            line = leat.get((name, metric, way, cores)) if peer == "leat" else None
            out.append("\t".join((
                name, metric, peer, way or "", str(cores), f"{s.median:.5g}", f"{s.least:.5g}",
                f"{s.most:.5g}", str(len(s.values)), f"{s.cores_used:.2f}",
                *((f"{line.to_go:.3f}" if line.to_go else "",
                   f"{line.to_best:.3f}" if line.to_best else "", line.best or "")
                  if line else ("", "", "")))))
        return "\n".join(out) + "\n"

    # ---- Markdown ----

    def markdown(self):
        parts = [self.machine_part(), *(self.table(cores) for cores in self.cores),
                 *(self.everyone(cores) for cores in self.cores), self.bars(), *self.more,
                 self.limits(), self.absent()]
        return "\n\n".join(part for part in parts if part) + "\n"

    def machine_part(self):
        return "\n".join(["### The machine", "", "| | |", "|---|---|"]
                         + [f"| {what} | {which} |" for what, which in self.notes["machine"]])

    @staticmethod
    def heading(cores, what=""):
        return f"### {'One core' if cores == 1 else f'{cores} cores'}{what}"

    def table(self, cores):
        """leat beside Go and the best peer."""
        if not self.on(cores):
            return ""
        head = ["", "leat", "min–max", "Go", "leat / Go", "best peer", "its", "leat / best"]
        if cores > 1:
            head += ["leat / leat on one", "cores kept busy: leat", "Go"]
        out = [self.heading(cores), "", f"| {' | '.join(head)} |",
               "|---|" + "--:|" * 4 + "---|" + "--:|" * (len(head) - 6)]
        for line in self.on(cores):
            unit = "" if line.row.unit == "ns" else f" {line.row.unit}"
            cells = [line.label, figure(line.leat.median) + unit,
                     f"{figure(line.leat.least)}–{figure(line.leat.most)}",
                     figure(line.go and line.go.median), ratio(line.to_go),
                     line.best or "–", figure(line.best and line.peers[line.best].median),
                     ratio(line.to_best)]
            if cores > 1:
                cells += [ratio(line.to_one), ratio(line.leat.cores_used),
                          ratio(line.go and line.go.cores_used)]
            out.append(f"| {' | '.join(cells)} |")
        return "\n".join(out)

    def everyone(self, cores):
        peers = [p for p in self.peers if any(p in line.peers for line in self.on(cores))]
        if not peers:
            return ""
        out = [self.heading(cores, ", everybody: median (min–max)"), "",
               f"| | leat | {' | '.join(peers)} |", "|---|" + "--:|" * (len(peers) + 1)]

        def cell(samples):
            if not samples:
                return ""
            return (f"{figure(samples.median)} "
                    f"({figure(samples.least)}–{figure(samples.most)})")
        for line in self.on(cores):
            if line.way:
                continue
            cells = [cell(line.leat), *(cell(line.peers.get(p)) for p in peers)]
            out.append(f"| {line.label} | {' | '.join(cells)} |")
        return "\n".join(out)

    # ---- bars ----

    def bars(self):
        if not self.lines:
            return ""
        fixed = []

        def promise(line, what, is_, most):
            if is_ is not None:
                fixed.append((line.label, what, f"{most:g}", figure(is_), is_ <= most))
        for line in self.lines:
            row = line.row
            if line.cores == 1:
                if (bar := row.bar_of(line.way)) is not None:
                    promise(line, "of Go's, one core", line.to_go, bar)
                if (limit := row.limit_of(line.way)) is not None:
                    promise(line, row.unit, line.leat.median, limit)
            elif row.crossbeam and not line.way and "crossbeam" in line.peers:
                promise(line, "of crossbeam's, two cores",
                        line.leat.median / line.peers["crossbeam"].median, row.crossbeam)
        out = ["### Bars", "", "| | leat at most | | is | holds |", "|---|--:|---|--:|---|"]
        for label, what, most, is_, holds in fixed:
            out.append(f"| {label} | {most} | {what} | {is_} | {'yes' if holds else '**no**'} |")
        tasks = [line for line in self.lines if not line.way]
        for what, lines, value, most in (
            ("On two cores no slower than Go on two",
             [line for line in tasks if line.cores == 2 and line.row.timing],
             lambda line: line.to_go, 1.0),
            (f"On two cores at most {SECOND_CORE:g} of leat on one",
             [line for line in tasks if line.cores == 2 and line.row.timing],
             lambda line: line.to_one, SECOND_CORE),
            ("Ahead of the best peer, on one core", [line for line in tasks if line.cores == 1],
             lambda line: line.to_best, 1.0),
            ("Ahead of the best peer, on two", [line for line in tasks if line.cores == 2],
             lambda line: line.to_best, 1.0),
        ):
            lines = [line for line in lines if value(line) is not None]
            if lines:
                out += ["", self.general(what, lines, value, most)]
        return "\n".join(out)

    @staticmethod
    def general(what, lines, value, most):
        failing = [line for line in lines if value(line) > most]
        text = f"{what}: {len(lines) - len(failing)} of {len(lines)} rows hold."
        for line in failing:
            against = f" ({line.best})" if "best" in what else ""
            text += f"\n- not {line.label}: {value(line):.2f}{against}"
        return text

    # ---- limits, and missing peers ----

    def limits(self):
        out = ["### Limits", "", "| what this machine needs for | ns | min–max |", "|---|--:|--:|"]
        found = False
        for name, what in LIMITS:
            for key, s in self.results.samples.items():
                if key[2] == "limits" and key[0] == name:
                    found = True
                    out.append(f"| {what} | {figure(s.median)} | "
                               f"{figure(s.least)}–{figure(s.most)} |")
        return "\n".join(out) if found else ""

    def absent(self):
        notes = [f"- without {peer}: {why}" for peer, why in self.notes["missing"].items()]
        notes += [f"- {what}: {why}" for what, why in self.notes["failures"].items()]
        return "\n".join(["### Who is missing", "", *notes]) if notes else ""
