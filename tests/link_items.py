"""link_items.py [NAME...]: what becomes of items; see link_items.sh."""
import os
import signal

from link_common import (HOUR, SERVED, WHOLE, Run, check, most_at_once, read_log, read_outputs,
                         run_cases, same, starts, wait_for)


def failures(case):
    """An item that fails is tried again, and its far end learns how often."""
    near = case.near(tries=3, max=1000)
    near.feed("5", "6 fail=2", "7 fail=3", "BAD", "8", "9 raw=9", "10 raw=1001", "x" * 1001,
              "11 raw=3", "12 raw=0")
    near.end_input()
    far = case.far(places=4, max=1000)
    same("end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    same("outputs", [(0, 0, 25), (1, 0, 36), (2, -5, 0), (3, -74, 0), (4, 0, 64), (5, -71, 0),
                     (6, -90, 0), (7, -90, 0), (8, 0, 0x787878), (9, 0, 0)], case.got())
    for index, tries in enumerate([1, 3, 3, 0, 1, 1, 3, 0, 1, 1]):
        same(f"tries of {index}", list(range(tries)),
             [again for _, _, again, _ in starts(case.log, index)])


def verdicts(case):
    """Without LEAT_FAIL_TELLS a failure is dropped, or becomes the verdict."""
    far = case.far(places=4)
    near = case.near(run="drops", tries=1, failing="drops")
    near.feed("5", "6 fail=1", "7")
    near.end_input()
    same("drops", WHOLE, near.end())
    same("outputs", [(0, 0, 25), (1, 0, 49)], case.got())
    near = case.near(run="cancels", outputs=case.bench.file(), tries=1, failing="cancels")
    near.feed("5", "6 fail=1", "7")
    near.end_input()
    same("cancels", {"opened": 0, "ending": -125, "verdict": -5}, near.end())
    far.term()


def deaths(case):
    """An item that its far ends die of fails, and the others do not."""
    near = case.near(n=1, tries=3)
    near.feed("5", "6 die=2", "7 die=9", "8")
    near.end_input()
    for _ in range(5):
        far = case.far(lease=400)
        wait_for("a far end dies", lambda: far.process.poll() is not None)
        far.end()
    last = case.far(lease=400)
    same("end", WHOLE, near.end())
    same("last far end", SERVED, last.term())
    same("outputs", [(0, 0, 25), (1, 0, 36), (2, -130, 0), (3, 0, 64)], case.got())
    same("tries", [1, 3, 3, 1], [len(starts(case.log, i)) for i in range(4)])


def unordered(case):
    """Outputs come as they are made; a near end that is killed goes on with the others."""
    options = {"unordered": 1, "window": 2000, "n": 3}
    near = case.near(**options)
    items = [case.wait_here(0), *range(1, 1000)]
    far = case.far(places=3)
    near.feed(*items)
    wait_for("the others", lambda: len(case.got()) == 999)
    near.kill()
    near = case.near(**options)
    case.let_go()
    near.feed(*items)
    near.end_input()
    same("end", WHOLE, near.end())
    far.term()
    outputs = case.got()
    same("the last one", (0, 0, 0), outputs[-1])
    same("outputs", [(i, 0, i * i) for i in range(1000)], sorted(outputs))


def slow(case):
    """The lease of an item that takes longer is renewed, and the item runs once."""
    lease = 1500
    near = case.near()
    near.feed(case.wait_here(3))
    near.end_input()
    fars = [case.far(lease=lease), case.far(lease=lease)]
    case.wait_for_starts(1)

    def ends_at():
        return int(case.engine.ask("ZSCORE", case.run.key("leases"), 0))

    first = ends_at()
    wait_for("the engine's clock has passed the end of the first lease",
             lambda: ends_at() - lease > first)
    case.let_go()
    same("end", WHOLE, near.end())
    same("outputs", [(0, 0, 9)], case.got())
    same("starts", 1, len(starts(case.log)))
    for far in fars:
        same("far end", SERVED, far.term())


def stopped(case):
    """The items of a far end that was stopped are others', and their scopes are cancelled."""
    near = case.near(n=2)
    near.feed(case.wait_here(3), case.wait_here(4))
    near.end_input()
    first = case.far(lease=500, places=2)
    case.wait_for_starts(2)
    os.kill(first.pid, signal.SIGSTOP)
    second = case.far(lease=2000, places=2)
    case.wait_for_starts(4)
    os.kill(first.pid, signal.SIGCONT)
    wait_for("the first learns of that", lambda: sum(
        line[0] == "end" and line[2:] == (-125, first.pid) for line in read_log(case.log)) == 2)
    same("leases", 2, case.run.count("leases"))
    case.let_go()
    same("end", WHOLE, near.end())
    same("outputs", [(0, 0, 9), (1, 0, 16)], case.got())
    same("tries", [0, 0, 1, 1], sorted(line[2] for line in starts(case.log)))
    first.term()
    second.term()


def gives_back(case):
    """A far end that ends gives its items back at once: nobody could wait for these leases."""
    near = case.near(n=4)
    near.feed(*map(case.wait_here, range(4)))
    near.end_input()
    first = case.far(lease=HOUR, places=3, grace=1)
    case.wait_for_starts(3)
    second = case.far(lease=HOUR, places=4)
    case.wait_for_starts(4)
    same("first", SERVED, first.term())
    case.wait_for_starts(7)
    same("leases", 4, case.run.count("leases"))
    case.let_go()
    same("end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(4)], case.got())
    # Nothing has failed, and no end has died.
    same("tries", {0}, {line[2] for line in starts(case.log)})
    same("second", SERVED, second.term())


def grace(case):
    """A far end that ends takes no more, and what it has may go on."""
    near = case.near(n=1)
    near.feed(case.wait_here(3), 4)
    near.end_input()
    far = case.far(grace="never", lease=1500)
    case.wait_for_starts(1)
    far.process.terminate()
    score = case.engine.ask("ZSCORE", case.run.key("leases"), 0)
    wait_for("a renewal", lambda: case.engine.ask("ZSCORE", case.run.key("leases"), 0) != score)
    case.let_go()
    same("far end", SERVED, far.end())
    same("starts", 1, len(starts(case.log)))
    wait_for("its output", lambda: case.got() == [(0, 0, 9)])
    far = case.far()
    same("end", WHOLE, near.end())
    same("outputs", [(0, 0, 9), (1, 0, 16)], case.got())
    far.term()


def n_of_one(case):
    """A far end with more places than n goes on at once when an item has ended."""
    near = case.near(n=2)
    near.feed(*range(200))
    near.end_input()
    wait_for("all are published", lambda: case.run.published() == 200)
    far = case.far(places=8, lease=HOUR)
    same("end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(200)], case.got())
    same("at once", True, most_at_once(read_log(case.log)) <= 2)
    same("far end", SERVED, far.term())


def n_of_two(case):
    """n holds over far ends of several sizes; when one ends, the other has n."""
    near = case.near(n=5, window=60)
    near.feed(*map(case.wait_here, range(60)))
    near.end_input()
    small = case.far(places=2, lease=HOUR, grace=1)
    case.wait_for_starts(2)
    large = case.far(places=8, lease=HOUR)
    case.wait_for_starts(5)
    same("leases", 5, case.run.count("leases"))
    same("of the small one", 2, sum(line[3] == small.pid for line in starts(case.log)))
    small.term()
    case.wait_for_starts(7)
    case.let_go()
    same("end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(60)], case.got())
    same("at once", 5, most_at_once(read_log(case.log)))
    large.term()


def frees_n(case):
    """When a far end with n leases ends its items and itself, another goes on at once."""
    near = case.near(n=2)
    near.feed(case.wait_here(0), case.wait_here(1), *range(2, 50))
    near.end_input()
    first = case.far(places=2, lease=HOUR, grace="never")
    case.wait_for_starts(2)
    second = case.far(places=2, lease=HOUR)
    wait_for("the second waits", lambda: case.engine.ask("HLEN", case.run.key("waiting")) == 1)
    first.process.terminate()
    case.let_go()
    same("first", SERVED, first.end())
    same("end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(50)], case.got())
    second.term()


def two_runs(case):
    """A far end serves all runs of its stage."""
    others = case.bench.file()
    nears = [case.near("a", n=2), case.near("b", others, n=3)]
    nears[0].feed(*map(case.wait_here, range(20)))
    nears[1].feed(*map(case.wait_here, range(100, 120)))
    far = case.far(places=5)
    case.wait_for_starts(5)
    same("of each", ["a"] * 2 + ["b"] * 3, sorted(line[1][0] for line in starts(case.log)))
    case.let_go()
    for near in nears:
        near.end_input()
        same("end", WHOLE, near.end())
    same("a", [(i, 0, i * i) for i in range(20)], case.got())
    same("b", [(i, 0, (100 + i) * (100 + i)) for i in range(20)], read_outputs(others)[0])
    for name in "ab":
        check(not Run(case.engine, case.stage, name).is_open(), f"{name} is open")
    far.term()


CASES = [failures, verdicts, deaths, unordered, slow, stopped, gives_back, grace, n_of_one,
         n_of_two, frees_n, two_runs]


run_cases(CASES)
