"""Runs the programs and collects their samples."""

import contextlib
import os
import re
import resource
import statistics
import subprocess
import time
from dataclasses import dataclass, field

from peers import C_PROGRAMS
from rows import HUNGRY, is_divided

SAMPLE = re.compile(r"SAMPLE\t([^\t]+)\t([^\t]+)\t(\S+)")
TIMEOUT = 120
# The least speed of a process's work loop, as a part of the fastest that was seen.
SLOW = 0.95
# How many times as long as usual a cache line may take from core to core. The host of a virtual
# machine may move a processor farther away, or run something else on it.
FAR = 2.5
TRIES = 4  # to take a sample while nothing disturbs it
# Into how many parts a sample is divided. The host of a virtual machine may run something else on
# the other half of a core, for some tenths of a second at a time, which makes the core up to twice
# as slow. So the part counts that is second to the fastest.
PARTS = 10

@dataclass
class Samples:
    values: list = field(default_factory=list)
    busy: list = field(default_factory=list)  # how many cores the process kept busy

    median = property(lambda self: statistics.median(self.values))
    least = property(lambda self: min(self.values))
    most = property(lambda self: max(self.values))
    cores_used = property(lambda self: statistics.median(self.busy) if self.busy else None)


class Results:
    """All samples. Each is also appended to a file at once."""

    def __init__(self, path):
        self.path = path
        self.samples = {}  # (row, metric, peer, way, cores) -> Samples
        self.failures = {}  # what -> why
        self.most_turns = 0  # of the loop that is work, in a microsecond
        self.lines = []  # ns from core to core, each time that it was measured

    def start(self):
        with open(self.path, "w") as f:
            f.write("row\tmetric\tpeer\tway\tcores\tvalue\tcpu/wall\n")

    def load(self):
        with open(self.path) as f:
            next(f)
            for line in f:
                row, metric, peer, way, cores, value, busy = line.rstrip("\n").split("\t")
                self._keep((row, metric, peer, way or None, int(cores)), float(value), float(busy))

    def add(self, key, value, busy):
        self._keep(key, value, busy)
        with open(self.path, "a") as f:
            f.write("\t".join(str(word or "") for word in key) + f"\t{value:g}\t{busy:.2f}\n")

    def _keep(self, key, value, busy):
        samples = self.samples.setdefault(key, Samples())
        samples.values.append(value)
        samples.busy.append(busy)

    def of(self, row, peer, cores, way=None):
        return self.samples.get((row.name, row.metric, peer, way, cores))


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def on_cores(cores):
    return ["taskset", "-c", ",".join(map(str, range(cores)))]


def run_once(command, cores, environment):
    """One process: its (metric, value) pairs, how many cores it kept busy, and what went wrong."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    environment = {**inherited, "GOMAXPROCS": str(cores), "LEAT_WORKERS": str(cores),
                   "BENCH_CORES": str(cores), **environment}
    start, before = time.monotonic(), children_cpu()
    process = subprocess.Popen([*on_cores(cores), *command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               env=environment)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
        wrong = ""
        if process.returncode:
            last = (err.strip().splitlines() or [""])[-1]
            wrong = f"ended with {process.returncode}: {last}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        wrong = f"did not end within {TIMEOUT} s"
    busy = (children_cpu() - before) / (time.monotonic() - start)
    found = [(m[2], float(m[3])) for m in SAMPLE.finditer(out)]
    return found, busy, wrong


class Contender:
    """A peer in one of its ways, in one row, on `cores` cores."""

    def __init__(self, peer, row, way, cores):
        self.peer, self.way, self.cores = peer, way, cores
        call = peer.calls.get(row, row) if not way else f"{row}_{way}"
        self.command = [*peer.command, call]
        self.out = False  # it has failed

    def title(self):
        return f"{self.peer.name} ({self.way})" if self.way else self.peer.name


def contenders_of(row, peers, all_cores, with_ways):
    """Yields the runs of a row.

    The runs of a program on one core and on two are neighbours, since the report gives their ratio.
    """
    for peer in peers:
        mine = [cores for cores in all_cores if cores in peer.cores and cores in row.cores]
        if row.name in peer.rows:
            yield from (Contender(peer, row.name, None, cores) for cores in mine)
        if peer.is_leat and with_ways:
            for way in row.ways:
                if row.program(way) in peer.rows:
                    yield from (Contender(peer, row.name, way, cores) for cores in mine)


def line_between_cores(results):
    """How many ns a cache line takes from core to core now."""
    found, _, _ = run_once([os.path.join(C_PROGRAMS, "bench-limits"), "cache_line"], 2,
                           {"BENCH_MIN_MS": "5", "BENCH_REPEATS": "1"})
    line = dict(found)["ns/op"]
    results.lines.append(line)
    return line


def near(results):
    """How long a line takes while the cores are near: a tenth of the times are shorter."""
    return sorted(results.lines)[len(results.lines) // 10] if results.lines else 0


def run_undisturbed(results, command, cores, environment, alone):
    """Runs the command, and again, up to TRIES times, while something disturbs it: the machine was
    slow during the calibration, or a process that is alone on two cores had them far apart, before
    or after. (A process first counts how many turns of its loop make up an item's work.)
    """
    looks = alone and cores > 1
    for _ in range(TRIES):
        line = line_between_cores(results) if looks else 0
        done = found, _, wrong = run_once(command, cores, environment)
        line = max(line, line_between_cores(results)) if looks else 0
        turns = dict(found).get("turns/us", 0)
        is_slow = 0 < turns < SLOW * results.most_turns
        results.most_turns = max(results.most_turns, turns)
        if wrong or not (is_slow or line > FAR * near(results)):
            break
    if looks:
        results.add(("line_beside", "ns/op", "limits", None, 2), line, 0)
    return done


@contextlib.contextmanager
def others_that_compute(number, cores):
    """Other programs that use the same cores all the time."""
    command = [*on_cores(cores), "sh", "-c", "while :; do :; done"]
    programs = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def touch_pages(gigabytes):
    """Makes the host of a virtual machine have its pages ready.

    Call it before each measurement: the host may take back the pages that are freed.
    """
    subprocess.run([os.path.join(C_PROGRAMS, "bench-pretouch"), str(gigabytes)], check=True)


def counted(found, parts):
    """Of each metric's values, taken in groups of `parts`, the second least of each group."""
    by_metric = {}
    for metric, value in found:
        by_metric.setdefault(metric, []).append(value)
    for metric, values in by_metric.items():
        for i in range(0, len(values), parts):
            group = sorted(values[i:i + parts])
            yield metric, group[min(1, parts - 1)]


def measure_row(results, row, contenders, options, say):
    """Takes a sample of each contender in turn, again and again.

    So a disturbance of the machine affects all of them alike.
    """
    start = time.monotonic()
    parts = PARTS if is_divided(row) else 1
    environment = {"BENCH_MIN_MS": str(options.min_ms // parts), "BENCH_REPEATS": str(parts)}
    if options.crowd:
        environment["BENCH_CROWD"] = str(options.crowd)
    if options.quick:
        environment["BENCH_WARM_MS"] = "500"
    for turn in range(options.repeats):
        for c in contenders:
            if c.out or (c.peer.one_process and turn > 0):
                continue
            if row in HUNGRY:
                touch_pages(1 if options.quick else HUNGRY[row])
            more = {"BENCH_REPEATS": str(options.repeats * parts)} if c.peer.one_process else {}
            found, busy, wrong = run_undisturbed(
                results, c.command, c.cores, {**environment, **c.peer.environment, **more},
                not options.beside)
            for metric, value in counted(found, parts):
                results.add((row, metric, c.peer.name, c.way, c.cores), value, busy)
            if wrong:
                c.out = True
                results.failures[f"{c.title()}, {row}, on {c.cores}"] = wrong
                say(f"{row} of {c.title()} on {c.cores}: {wrong}")
    titles = dict.fromkeys(c.title() for c in contenders)
    say(f"{row}: {', '.join(titles)}: {time.monotonic() - start:.1f} s")
