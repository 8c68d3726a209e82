"""link_ends.py [NAME...]: how runs end and are opened again; see link_ends.sh."""
from link_common import (HOUR, SERVED, WHOLE, Run, check, read_log, read_outputs, run_cases, same,
                         starts, wait_for)

CANCELLED = {"opened": 0, "ending": -125, "verdict": 0}
STALE = {"opened": 0, "ending": -125, "verdict": -116}


def squares(count):
    return [(i, 0, i * i) for i in range(count)]


def forget(case, run="run"):
    return case.near(run=run, outputs="forget").end().get("forget")


def nothing(case):
    """A run without items ends at once, and can be removed."""
    near = case.near()
    near.end_input()
    same("end", WHOLE, near.end())
    check(not case.run.is_open(), "it is open")
    same("forget", 0, forget(case))
    check(not case.run.exists(), "the engine still has something")
    same("forget again", -2, forget(case))


def cancelled(case):
    """A near end that is cancelled ends, and the run goes on where it was."""
    near = case.near(n=2)
    near.feed(*range(10), case.wait_here(10), case.wait_here(11))
    far = case.far(places=4)
    case.wait_for_starts(12)
    wait_for("outputs", lambda: len(case.got()) == 10)
    same("cancelled", CANCELLED, near.term())
    check(case.run.is_open(), "it is not open")
    near = case.near(n=2)
    near.feed(*range(10), case.wait_here(10), case.wait_here(11), 12)
    near.end_input()
    case.let_go()
    same("end", WHOLE, near.end())
    same("outputs", squares(13), case.got())
    same("starts", 13, len(starts(case.log)))
    far.term()


def after_the_end(case):
    """A run that has ended can be opened again for a day: the last results come once more."""
    far = case.far(places=4)
    for again in 0, 1:
        near = case.near()
        near.feed(*range(50))
        near.end_input()
        same("end", WHOLE, near.end())
        same("outputs", squares(50), case.got())
        check(read_outputs(case.outputs)[1] <= again, "more than the last one came again")
        check(not case.run.is_open(), "it is open")
        for name in "run", "results":
            left = case.engine.ask("PTTL", case.run.key(name))
            check(0 < left <= 24 * HOUR, f"{name} is kept for {left} ms")
    same("starts", 50, len(starts(case.log)))
    far.term()


def last_ones(case):
    """The result before the last one received may not have been used; with a capacity, more."""
    far = case.far(places=4)
    for capacity, run in (0, "none"), (7, "seven"):
        outputs = case.bench.file()
        near = case.near(run, outputs, capacity=capacity)
        near.feed(*range(50))
        wait_for("outputs", lambda: len(read_outputs(outputs)[0]) == 50)
        wait_for("it is noted", lambda: int(case.engine.ask(
            "HGET", Run(case.engine, case.stage, run).key("run"), "delivered") or 0) ==
            49 - capacity)
        near.kill()
        near = case.near(run, outputs, capacity=capacity)
        near.feed(*range(50))
        near.end_input()
        same("end", WHOLE, near.end())
        same("outputs", (squares(50), 1 + capacity), read_outputs(outputs))
    far.term()


def second_near(case):
    """Of two near ends, the first ends with -ESTALE, and nothing comes between."""
    first = case.near()
    first.feed(*range(20))
    far = case.far(places=4)
    wait_for("outputs", lambda: len(case.got()) == 20)
    others = case.bench.file()
    second = case.near(outputs=others)
    second.feed(*range(20))
    wait_for("the second is open", lambda: case.engine.ask(
        "HGET", case.run.key("run"), "n") and read_outputs(others)[0])
    first.feed(100, 101)
    same("first", STALE, first.end())
    check("opened again" in first.messages(), first.messages())
    second.feed(20, 21)
    second.end_input()
    same("second", WHOLE, second.end())
    same("last", squares(22)[-2:], read_outputs(others)[0][-2:])
    far.term()


def forgotten(case):
    """Of a run that is removed nothing is left, and its near end and far end learn of it."""
    near = case.near()
    near.feed(*map(case.wait_here, range(4)))
    far = case.far(places=2, lease=100)
    case.wait_for_starts(2)
    same("forget", 0, forget(case))
    check(not case.run.exists(), "the engine still has something")
    wait_for("the far end learns of it", lambda: [line[2] for line in read_log(
        case.log) if line[0] == "end"] == [-125, -125])
    near.feed(5)
    same("near end", STALE, near.end())
    check(not case.run.exists(), "the engine has something again")
    same("far end", SERVED, far.term())


def forgotten_and_opened(case):
    """A near end of a run that was removed does not come between those of its successor."""
    first = case.near()
    first.feed(100, 101)
    wait_for("they are published", lambda: case.run.published() == 2)
    same("forget", 0, forget(case))
    outputs = case.bench.file()
    second = case.near(outputs=outputs)
    second.feed(0, 1)
    wait_for("they are published", lambda: case.run.published() == 2)
    first.feed(102, 103)
    same("first", STALE, first.end())
    far = case.far(places=2)
    second.feed(2, 3)
    second.end_input()
    same("second", WHOLE, second.end())
    same("outputs", squares(4), read_outputs(outputs)[0])
    far.term()


def cut_short(case):
    """An input that is cut short: what there is is delivered, and the run stays open."""
    near = case.near()
    near.feed(*range(10), "CUT")
    far = case.far(places=2)
    same("end", {"opened": 0, "ending": -125, "verdict": 0}, near.end())
    same("outputs", squares(10), case.got())
    check(case.run.is_open(), "it is not open")
    near = case.near()
    near.feed(*range(20))
    near.end_input()
    same("end", WHOLE, near.end())
    same("outputs", squares(20), case.got())
    far.term()


def closed_output(case):
    """A consumer closes the output: the stage ends, and the run can be opened again."""
    for enough in 3, 0:
        outputs, run = case.bench.file(), Run(case.engine, case.stage, f"enough-{enough}")
        near = case.near(run.name, outputs, enough=enough)
        near.feed(*range(20))
        far = case.far(places=2) if enough else None
        same("end", WHOLE, near.end())
        same("outputs", squares(enough), read_outputs(outputs)[0])
        near = case.near(run.name, outputs)
        far = far or case.far(places=2)
        near.feed(*range(20))
        near.end_input()
        same("end", WHOLE, near.end())
        same("outputs", squares(20), read_outputs(outputs)[0])
        far.term()


def closed_idle(case):
    """The same where there is no item to take, and no result to wait for."""
    near = case.near(enough=1)
    near.feed(0)
    far = case.far()
    same("end", WHOLE, near.end())
    far.term()


CASES = [nothing, cancelled, after_the_end, last_ones, second_near, forgotten,
         forgotten_and_opened, cut_short, closed_output, closed_idle]

run_cases(CASES)
