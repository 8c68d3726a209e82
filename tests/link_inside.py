"""link_inside.py [NAME...]: what both ends of a remote stage take; see link_inside.sh."""
import os
import signal
import threading
import time

from link_common import PROGRAMS, SERVED, WHOLE, Bench, Case, check, run_cases, same, wait_for

WORKERS = {"LEAT_WORKERS": "3"}
SECRET = "correct-horse-battery"


def threads(case):
    """Both ends have as many threads as a leat program without a link. The lookout does not count:
    it begins when it is wanted."""
    bare = case.bench.start([PROGRAMS + "/bare"], case.bench.file(), environment=WORKERS)
    near = case.near(environment=WORKERS, n=4)
    far = case.far(environment=WORKERS, places=4)
    near.feed(*range(20), case.wait_here(20))
    case.wait_for_starts(21)

    def names(pid):
        found = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as file:
                found.append(file.read().strip())
        return found

    def count(pid):
        """The least of some looks: a lookout has its creator's name when it begins."""
        least = 1000
        for _ in range(20):
            least = min(least, sum(name != "leat-lookout" for name in names(pid)))
            time.sleep(0.01)
        return least

    wait_for("the bare program has its threads", lambda: count(bare.pid) >= 3)
    same("threads of the near end", count(bare.pid), count(near.pid))
    same("threads of the far end", count(bare.pid), count(far.pid))
    case.let_go()
    near.end_input()
    same("end", WHOLE, near.end())
    same("far end", SERVED, far.term())


def password(case):
    """A dump shows the tasks of both ends, and not what they say to the engine to be let in."""
    with Bench() as bench:
        engine = bench.engine(password=SECRET)
        own = Case(bench, engine, case.stage)
        environment = {"LEAT_LINK_PASSWORD": SECRET, "LEAT_DUMP": "SIGQUIT"}
        near = own.near(environment=environment)
        far = own.far(environment=environment, places=4)
        near.feed(1, own.wait_here(2))
        own.wait_for_starts(2)
        for program, task in (near, "publish"), (far, "listen"):
            os.kill(program.pid, signal.SIGQUIT)
            wait_for("a dump", lambda p=program, t=task: t in p.messages())
            wait_for("its end", lambda p=program: p.messages().endswith("\n"))
            check(SECRET not in program.messages(), "the password is in a dump")
            with open(f"/proc/{program.pid}/cmdline", encoding="utf-8") as file:
                check(SECRET not in file.read(), "the password is in the process list")
        own.let_go()
        near.end_input()
        same("end", WHOLE, near.end())
        far.term()


def memory(case):
    """The engine has no more than the window: items that wait, and results behind a slow one."""
    window, size = 64, 2000

    def used():
        return sum(case.engine.ask("MEMORY", "USAGE", case.run.key(name), "SAMPLES", 0) or 0
                   for name in ("items", "queue", "leases", "owners", "tries", "results"))

    near = case.near(n=16, window=window)
    lines = [case.wait_here(0), *(f"{i} {'x' * size} raw=8" for i in range(1, 200))]
    feeder = threading.Thread(target=near.feed, args=lines, daemon=True)
    feeder.start()  # the window keeps it waiting
    wait_for("the window is full", lambda: case.run.published() == window)
    most = window * (size + 8 + 300)
    check(used() <= most, f"items: {used()} bytes of {most}")
    far = case.far(places=16)
    wait_for("results", lambda: case.run.count("items") == 1)
    same("published", window, case.run.published())
    check(used() <= most, f"results: {used()} bytes of {most}")
    case.let_go()
    feeder.join()
    near.end_input()
    same("end", WHOLE, near.end())
    check(used() <= most, f"at the end: {used()} bytes of {most}")
    far.term()


run_cases([threads, password, memory])
