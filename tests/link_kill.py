"""link_kill.py: at random times, kills, stops and cuts off the parties of a run; see link_kill.sh.

Each event happens after a number of delivered outputs, and not by the clock. The seed is printed,
and LEAT_LINK_SEED sets it.
"""
import os
import random
import signal
import threading
import time

from link_common import (Bench, Client, EngineError, Failed, Run, check, most_at_once, read_log,
                         read_outputs, same, wait_for)
from link_proxy import Proxy

LONG = bool(os.environ.get("LEAT_LONG")) and not os.environ.get("SLOW_BUILD")
COUNT = 100000 if LONG else 4000
EVENTS = {"far": 100, "engine": 20, "near": 10, "stop": 20} if LONG else \
    {"far": 12, "engine": 2, "near": 2, "stop": 2}
PLACES, N, WINDOW, LEASE_MS, WORK_US = 16, 40, 4096, 300, 8000
LATE_MS = LEASE_MS // 2
STATE = """local has, most = {}, 0
    for _, owner in ipairs(redis.call('HVALS', KEYS[2])) do
        has[owner] = (has[owner] or 0) + 1
        most = math.max(most, has[owner])
    end
    return { redis.call('ZCARD', KEYS[1]), redis.call('HLEN', KEYS[2]),
        redis.call('HLEN', KEYS[3]), redis.call('LLEN', KEYS[4]), most }"""


class Sampler(threading.Thread):
    """Looks at the engine again and again, in one piece each time."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_keys = [run.key(name) for name in ("leases", "owners", "items", "queue")]
        self.path = run.engine.path
        self.samples, self.most, self.wrong = 0, 0, None
        self.gaps = 0  # the engine or this process was held up for so long that leases end
        self.ends = False

    def run(self):
        while not self.ends:
            try:
                client = Client(self.path)
                last = time.monotonic()
                while not self.ends:
                    self.judge(*client("EVAL", STATE, 4, *self.run_keys))
                    now = time.monotonic()
                    self.gaps += now - last > LATE_MS / 1000
                    last = now
                    time.sleep(0.001)
            except (OSError, EngineError):
                time.sleep(0.001)

    def judge(self, leases, owners, items, queue, has):
        self.samples += 1
        self.most = max(self.most, leases)
        if leases > N or leases != owners or items != leases + queue or items > WINDOW or \
                has > PLACES:
            self.wrong = f"{leases} leases, {owners} owners, {items} items, {queue} in the " \
                f"queue; a far end had {has} items"


class Battle:
    def __init__(self, bench, seed):
        self.bench, self.random = bench, random.Random(seed)
        self.engine = bench.engine()
        self.run = Run(self.engine, "square", "run")
        self.proxy = Proxy(self.engine.path, seed, 150)
        self.outputs, self.log = bench.file(), bench.file()
        with open(self.log, "w", encoding="utf-8"):
            pass
        self.delivered, self.read_to = 0, 0
        self.gate, self.open_to = bench.file(), 0
        self.open_gate(1000)
        self.fars = [None] * 3
        self.open_near()
        for place in range(3):
            self.open_far(place)

    def open_near(self):
        self.near = self.bench.near(
            self.proxy.url, "square", "run", self.outputs, count=COUNT, n=N, window=WINDOW,
            gate=self.gate, lease=LEASE_MS, tries=1000000, insist=1)

    def open_far(self, place):
        """The last one is not behind the proxy."""
        url = self.proxy.url if place < 2 else self.engine.url
        self.fars[place] = self.bench.far(
            url, "square", self.log, places=PLACES, lease=LEASE_MS, work=WORK_US, late=LATE_MS,
            grace="never", insist=1)

    def open_gate(self, count):
        """Lets the input go on to `count` items: the run does not end before all events."""
        if count > self.open_to:
            self.open_to = count
            with open(self.gate, "ab") as file:
                file.truncate(count)

    def note(self, what, far):
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(f"{what} - 0 {far.pid}\n")

    def has_delivered(self, count):
        ended = self.near.process.poll() is not None
        if os.path.exists(self.outputs):
            with open(self.outputs, "rb") as file:
                file.seek(self.read_to)
                more = file.read()
            self.read_to += len(more)
            self.delivered += more.count(b"\n") - more.count(b"again")
        check(not ended or self.delivered >= COUNT,
              f"the near end has ended: {self.near.messages()}")
        return self.delivered >= count

    def works(self, far):
        """Whether the far end has begun an item; or there are none left."""
        if self.has_delivered(COUNT):
            return True
        if self.delivered > self.open_to - N:
            self.open_gate(min(COUNT, self.open_to + 4))
        end = f" {far.pid}\n".encode()
        with open(self.log, "rb") as file:
            file.seek(max(0, os.path.getsize(self.log) - 20000))
            return any(line.startswith(b"start") and line.endswith(end) for line in file)

    def far(self):
        place = self.random.randrange(3)
        far = self.fars[place]
        wait_for("a far end works", lambda: self.works(far))
        self.note("kill", far)
        far.kill()
        self.open_far(place)

    def engine_(self):
        self.engine.restart()

    def near_(self):
        self.near.kill()
        self.open_near()

    def stop(self):
        """Stops a far end until others have all of its items."""
        far = self.fars[self.random.randrange(3)]
        wait_for("a far end works", lambda: self.works(far))
        self.note("stop", far)
        os.kill(far.pid, signal.SIGSTOP)
        had = set(self.owned())
        wait_for("its leases end", lambda: not had & set(self.owned()))
        os.kill(far.pid, signal.SIGCONT)

    def owned(self):
        """(index, far end) of the leases; of far ends that live, most change at once."""
        words = self.engine.ask("HGETALL", self.run.key("owners"))
        return zip(words[::2], words[1::2])

    def fight(self):
        events = [kind for kind, count in EVENTS.items() for _ in range(count)]
        self.random.shuffle(events)
        times = sorted(self.random.randrange(COUNT * 3 // 4) for _ in events)
        acts = {"far": self.far, "engine": self.engine_, "near": self.near_, "stop": self.stop}
        for at, event in zip(times, events):
            self.open_gate(at + 500)
            wait_for(f"{at} outputs", lambda: self.has_delivered(at))
            acts[event]()
        self.open_gate(COUNT)
        wait_for("all outputs", lambda: self.has_delivered(COUNT))


def judge(battle, sampler):
    outputs, again = read_outputs(battle.outputs)
    wanted = [(i, 0, i * i) for i in range(COUNT)]
    for number, (one, other) in enumerate(zip(wanted, outputs)):
        same(f"output {number}", one, other)
    same("outputs", COUNT, len(outputs))
    check(not sampler.wrong, f"the engine had {sampler.wrong}")
    check(sampler.samples > 100, "there are few samples")
    log = read_log(battle.log)
    begun = sum(line[0] == "start" for line in log)
    lost = sum(line[0] == "end" and line[2] != 0 for line in log)
    # An item begins again only when its lease has ended. A far end has no more leases than places;
    # while the engine is away, all leases may end. A near end's death or a cut ends none. A machine
    # that is busy may hold up each of them, too.
    late = sum(line[0] == "late" for line in log)
    bound = (EVENTS["far"] + EVENTS["stop"] + late) * PLACES + \
        (EVENTS["engine"] + sampler.gaps) * N
    faults = battle.proxy.count
    print(f"{COUNT} items, {EVENTS}, {faults}; begun twice: {begun - COUNT} of {bound} at most, "
          f"of them {lost} were cancelled; came again: {again}; leases in {sampler.samples} "
          f"samples: {sampler.most} at most; at once: {most_at_once(log)}; held up: {late} times, "
          f"and {sampler.gaps} times the engine")
    check(begun - COUNT <= bound, "too much was done twice")
    if not EVENTS["near"]:
        same("outputs that came again", 0, again)


def main():
    seed = int(os.environ.get("LEAT_LINK_SEED", time.time_ns() % 1000000))
    print(f"seed {seed}", flush=True)
    with Bench() as bench:
        battle = Battle(bench, seed)
        sampler = Sampler(battle.run)
        sampler.start()
        try:
            battle.fight()
            said = battle.near.end()
            same("the near end", {"opened": 0, "ending": -32, "verdict": 0}, said)
            for far in battle.fars:
                same("a far end", {"serves": 0, "served": -125}, far.term())
        except Failed:
            for program in (battle.near, *battle.fars):
                print(program.process.args, program.process.poll(), program.messages())
            raise
        sampler.ends = True
        sampler.join()
        judge(battle, sampler)
        for name in "items", "queue", "leases", "owners", "tries":
            same(name, 0, battle.run.count(name))
        check(not battle.run.is_open(), "the run is still open")
        battle.proxy.close()


main()
