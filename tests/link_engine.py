"""link_engine.py [NAME...]: engines refused, away or changed; see link_engine.sh."""
import re
import time

from link_common import (HOUR, SERVED, WHOLE, Engine, Listener, check, read_log, read_outputs,
                         run_cases, same, starts, wait_for)
from link_proxy import Proxy

SECRET = "rosebud7"


def opens(case, url, environment=None, **options):
    """What leat_link_open returned to a far end, and what it printed."""
    far = case.bench.far(url, case.stage, case.log, environment, **options)
    if wait_for("it says something", far.process.stdout.peek).startswith(b"serves"):
        same("far end", SERVED, far.term())
        return 0, far.messages()
    return far.end()["open"], far.messages()


def settings(case):
    """An engine that may lose or evict is refused, with the setting's name; `trust` accepts it."""
    engine = Engine(case.bench)
    for name, value in [("appendonly", "no"), ("appendfsync", "no"),
                        ("maxmemory-policy", "allkeys-lru"), ("maxmemory-policy", "volatile-ttl")]:
        engine.ask("CONFIG", "SET", name, value)
        error, printed = opens(case, engine.url)
        same(name, -95, error)
        check(name in printed and value in printed, f"{name}: {printed}")
        same(f"{name}: trust", (0, ""), opens(case, engine.url, trust=1))
        before = {"appendonly": "yes", "appendfsync": "always"}.get(name, "noeviction")
        engine.ask("CONFIG", "SET", name, before)
    engine.ask("CONFIG", "SET", "appendfsync", "everysec")
    same("appendfsync everysec", (0, ""), opens(case, engine.url))
    engine.ask("ACL", "SETUSER", "default", "-config")
    error, printed = opens(case, engine.url)
    same("settings that cannot be read", -95, error)
    check("settings" in printed, printed)
    same("settings that cannot be read: trust", (0, ""), opens(case, engine.url, trust=1))
    engine.kill()


def password(case):
    """A password is used, and never printed."""
    engine = Engine(case.bench, password=SECRET)
    proxy = Proxy(engine.path, 0, 0)
    right, wrong = {"LEAT_LINK_PASSWORD": SECRET}, {"LEAT_LINK_PASSWORD": "rosebud8"}
    same("right", (0, ""), opens(case, engine.url, right))
    same("in the address", (0, ""), opens(case, proxy.url.replace("//", f"//:{SECRET}@")))
    user = proxy.url.replace("//", "//default:%72osebud7@")
    same("user in the address", (0, ""), opens(case, user, wrong))
    same("an empty user", (0, ""), opens(case, engine.url, right | {"LEAT_LINK_USER": ""}))
    same("an empty password", (0, ""), opens(case, case.engine.url, {"LEAT_LINK_PASSWORD": ""}))
    for what, url, environment in [
            ("none", engine.url, {}), ("wrong", engine.url, wrong),
            ("wrong user", engine.url, right | {"LEAT_LINK_USER": "nobody"}),
            ("wrong in the address", proxy.url.replace("//", "//:rosebud8@"), right)]:
        error, printed = opens(case, url, environment)
        same(what, -13, error)
        check("rosebud" not in printed and printed.count("\n") == 1, f"{what}: {printed}")
    far = case.bench.far(engine.url, case.stage, case.log, right)
    wait_for("it serves", far.process.stdout.peek)
    with open(f"/proc/{far.pid}/cmdline", "rb") as file:
        check(SECRET.encode() not in file.read(), "the command line has the password")
    engine.ask("CONFIG", "SET", "requirepass", "another")
    for kind in ["normal", "pubsub"]:  # its listener may have subscribed, or not yet
        engine.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
    same("it was changed", {"serves": 0, "served": -13}, far.end())
    check(SECRET not in far.messages() and "WRONGPASS" in far.messages(), far.messages())
    engine.kill()
    proxy.close()


def password_echoed(case):
    """Nor is it when the engine repeats what it was asked: it has no password, or no AUTH."""
    secret = {"LEAT_LINK_PASSWORD": SECRET, "LEAT_LINK_USER": "rosebud-user"}
    error, printed = opens(case, case.engine.url, secret)
    same("the user is unknown", -13, error)
    check("rosebud" not in printed, printed)
    for unknown in f"ERR unknown command 'AUTH', with args beginning with: '{SECRET}'", \
            f"-ERR {SECRET}\r\n":
        listener = answer_all(f"-{unknown}\r\n".encode())
        error, printed = opens(case, f"redis://127.0.0.1:{listener.port}", secret)
        same("no AUTH", -13, error)
        check(SECRET not in printed and printed, printed)
        listener.close()


def answer_all(answer):
    """A server that says always the same."""
    def serve(client):
        client.recv(4096)
        client.sendall(answer)

    return Listener(serve)


def no_database(case):
    """An address with a database that the engine does not have."""
    error, printed = opens(case, case.engine.url + "?db=99999")
    same("the database", -22, error)
    check("out of range" in printed, printed)


def strangers(case):
    """What is no engine of ours, or none at all."""
    for answer, error in [(b"HTTP/1.1 400 Bad Request\r\n\r\n", -71), (b"+OK\r\n", -71),
                          (b"$25\r\n# Server\r\nversion:6.0.16\r\n\r\n", -71),
                          (b"$24\r\nredis_version:6.0.16\r\n\r\n\r\n", -95),
                          (b"*99999999999999999999\r\n", -71), (b"", -104)]:
        listener = answer_all(answer)
        same(str(answer), error, opens(case, f"redis://127.0.0.1:{listener.port}")[0])
        listener.close()
    same("refused", -111, opens(case, "redis://127.0.0.1:1")[0])
    same("no socket", -2, opens(case, "redis+unix:/nowhere/redis")[0])
    same("no address", -22, opens(case, "redis://")[0])


def away(case):
    """An engine that is away for longer than the link allows is reported, and ends both ends."""
    engine = Engine(case.bench)
    case.engine = engine
    near = case.near(away=300)
    near.feed(case.wait_here(0), case.wait_here(1))
    far = case.far(places=2, away=300, lease=100)
    case.wait_for_starts(2)
    engine.kill()
    same("near end", {"opened": 0, "ending": -125, "verdict": -112}, near.end())
    same("far end", {"serves": 0, "served": -112}, far.end())
    for program in near, far:
        printed = program.messages()
        check("is away: " in printed, printed)
        check(printed.count("\n") < 10, f"it was reported {printed.count(chr(10))} times")


def away_deaf(case):
    """A far end that has lost its engine waits for its items, and does nothing else."""
    engine = Engine(case.bench)
    case.engine = engine
    near = case.near()
    near.feed(f"0 deaf wait={case.go}")
    far = case.far(away=100, lease=100)
    case.wait_for_starts(1)
    engine.kill()
    far.wait_for_message("is away")
    time.sleep(0.2)  # a chance for what must not happen
    printed = far.messages()
    check(printed.count("\n") < 10, f"it was reported {printed.count(chr(10))} times")
    case.let_go()
    same("far end", {"serves": 0, "served": -112}, far.end())
    near.kill()


def away_idle(case):
    """An engine is there while both ends wait for work: a lost connection does not change that."""
    near = case.near(away=500)
    wait_for("it has opened", near.process.stdout.peek)
    far = case.far(away=500)
    wait_for("the run is open", case.run.is_open)
    case.wait_for_listener()
    strange = case.bench.far(case.engine.url, "strange", case.log, away=500)
    wait_for("it listens", lambda: case.engine.ask("PUBSUB", "NUMSUB", "leat:{strange}")[1] == 1)
    time.sleep(0.6)
    for kind in "normal", "pubsub":
        case.engine.ask("CLIENT", "KILL", "TYPE", kind)
    near.feed(*range(5))
    near.end_input()
    same("near end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    near = case.bench.near(case.engine.url, "strange", "run", case.bench.file())
    near.feed(1)
    near.end_input()
    same("near end of a new run", WHOLE, near.end())
    same("far end of a new run", SERVED, strange.term())


def away_for_ever(case):
    """While the engine is away both ends wait; then they go on. Cancelling ends the waits."""
    engine = Engine(case.bench)
    case.engine = engine
    nears = [case.near(), case.near("other", case.bench.file())]
    nears[0].feed(case.wait_here(0), *range(1, 50))
    nears[1].feed(1)
    wait_for("it has opened", nears[1].process.stdout.peek)
    fars = [case.far(places=2, lease=HOUR)]
    case.wait_for_starts(51)  # so the second far end has none, which would be its own for an hour
    fars.append(case.far(places=2, lease=HOUR))
    wait_for("it serves", fars[1].process.stdout.peek)
    engine.kill()
    for program in *nears, *fars:
        program.wait_for_message("is away")
    same("near end", 0, nears[1].term()["verdict"])
    same("far end", SERVED, fars.pop().term())
    case.let_go()
    engine.start({})
    nears[0].end_input()
    same("near end", WHOLE, nears[0].end())
    same("outputs", [(i, 0, i * i) for i in range(50)], case.got())
    check("is there again" in nears[0].messages(), nears[0].messages())
    for far in fars:
        same("far end", SERVED, far.term())
    same("starts of the first", 1, sum(
        line[:2] == ("start", "run/0") for line in read_log(case.log)))
    engine.kill()


def grace_away(case):
    """A far end that is to end while the engine is away still stores what it has."""
    engine = Engine(case.bench)
    case.engine = engine
    near = case.near()
    near.feed(case.wait_here(3))
    near.end_input()
    far = case.far(grace="never", lease=HOUR)
    case.wait_for_starts(1)
    engine.kill()
    far.wait_for_message("is away")
    far.process.terminate()
    time.sleep(0.2)  # a chance for what must not happen
    case.let_go()
    engine.start({})
    same("far end", SERVED, far.end())
    same("near end", WHOLE, near.end())
    same("outputs", [(0, 0, 9)], case.got())
    same("starts", 1, len(starts(case.log)))
    engine.kill()


def changed(case):
    """An engine that comes back with other settings is refused by both ends."""
    engine = Engine(case.bench)
    case.engine = engine
    near = case.near()
    near.feed(case.wait_here(0))
    far = case.far()
    case.wait_for_starts(1)
    engine.restart({"appendfsync": "no"})
    same("near end", {"opened": 0, "ending": -125, "verdict": -95}, near.end())
    same("far end", {"serves": 0, "served": -95}, far.end())
    check("appendfsync" in near.messages() and "appendfsync" in far.messages(), near.messages())
    engine.kill()


def crowded(case):
    """An engine with too many clients is away until it has fewer."""
    engine = Engine(case.bench)
    case.engine = engine
    near = case.near()
    near.feed(case.wait_here(0))
    far = case.far()
    case.wait_for_starts(1)
    engine.ask("CONFIG", "SET", "maxclients", 1)
    for kind in "normal", "pubsub":
        engine.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
    for program in near, far:
        program.wait_for_message("is away: ")
    engine.ask("CONFIG", "SET", "maxclients", 100)
    case.let_go()
    near.end_input()
    same("near end", WHOLE, near.end())
    same("far end", SERVED, far.term())
    engine.kill()


def call(words):
    """How the call of a script begins. The number of words shows which, if there is one item at
    most: 15 finish, 16 confirm, 17 open, and renew without an item, 18 publish, and renew with one
    item, 19 done, 21 take."""
    return b"*%d\r\n$7\r\nEVALSHA" % words


def swallowed(case):
    """The engine does what it is asked, and the answer is lost: all goes on at once. Nobody could
    wait for these leases."""
    proxy = Proxy(case.engine.path, 0, 0)
    for words in 15, 16, 17, 18, 19, 21:
        outputs, log = case.bench.file(), case.bench.file()
        stage = f"words-{words}"
        far = case.bench.far(proxy.url, stage, log, lease=HOUR)
        near = case.bench.near(proxy.url, stage, "run", outputs)
        near.feed(0)
        wait_for("an output", lambda: read_outputs(outputs)[0])
        proxy.swallow(call(words))
        if words == 17:
            proxy.cut_all()  # a far end that comes back reports what it has
        for item in range(1, 20):
            near.feed(item)
            wait_for("its output", lambda: len(read_outputs(outputs)[0]) > item)
        near.end_input()
        same(f"{words}: end", WHOLE, near.end())
        same(f"{words}: outputs", [(i, 0, i * i) for i in range(20)], read_outputs(outputs)[0])
        same(f"{words}: starts", [0] * 20, [line[2] for line in starts(log)])
        same(f"{words}: far end", SERVED, far.term())
        check(not proxy.to_swallow, f"{words}: nothing was swallowed")
    proxy.close()


def overtaken(case):
    """While a far end comes back, an item is sent to it, which it takes before it hears of it. When
    it hears, it gives back all that it does not have, and waits again."""
    proxy = Proxy(case.engine.path, 0, 0)
    waiting = f"leat:{{{case.stage}}}:run:waiting"

    def waits_by():
        words = case.engine.ask("HVALS", waiting)
        return words[0].split()[1] if words else None

    near = case.near()
    far = case.bench.far(proxy.url, case.stage, case.log, lease=HOUR, places=2)
    wait_for("it waits", waits_by)
    case.wait_for_listener()
    proxy.swallow(call(19), then_hold=call(18))  # a renewal that lists one item
    near.feed(0)
    wait_for("it comes back", proxy.held.is_set)
    wait_for("it still waits", waits_by)
    proxy.delay_message()
    near.feed(1)
    wait_for("the item is sent", proxy.delayed.is_set)
    proxy.let_go()
    wait_for("outputs", lambda: len(case.got()) == 2)
    number = wait_for("it waits again", waits_by)
    proxy.pass_message()
    wait_for("it has heard", lambda: waits_by() != number)
    near.feed(2)
    near.end_input()
    same("near end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(3)], case.got())
    same("far end", SERVED, far.term())
    proxy.close()


def on_their_way(case):
    """A far end is woken while items are on their way to it. It takes no others in their places."""
    proxy = Proxy(case.engine.path, 0, 0)
    near = case.near(n=20)
    far = case.bench.far(proxy.url, case.stage, case.log, lease=HOUR, places=4)

    def takes():
        stats = case.engine.ask("INFO", "commandstats")
        return int(re.search(r"cmdstat_evalsha:calls=(\d+)", stats)[1])

    wait_for("it waits", lambda: case.run.count("waiting") == 1)
    case.wait_for_listener()
    proxy.delay_message()
    case.engine.ask("PUBLISH", case.run.stage, "run")
    wait_for("it is woken", proxy.delayed.is_set)
    woken = proxy.passes
    proxy.delay_message()
    for item in range(6):
        near.feed(case.wait_here(item))
        wait_for("it is published", lambda: case.run.published() > item)
    same("sent to it", (4, 2), (case.run.count("owners"), case.run.count("queue")))
    before = takes()
    woken.set()
    wait_for("it takes", lambda: takes() > before)
    same("its items", 4, case.run.count("owners"))
    proxy.pass_message()
    case.wait_for_starts(4)
    same("its items", 4, case.run.count("owners"))
    case.let_go()
    near.end_input()
    same("near end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(6)], case.got())
    same("far end", SERVED, far.term())
    proxy.close()


def late(case):
    """A request of a connection that was given up comes late, and takes nothing back."""
    proxy = Proxy(case.engine.path, 0, 0)
    near = case.bench.near(proxy.url, case.stage, "run", case.outputs, lease=100)
    far = case.far(places=4)
    near.feed(*range(10))
    wait_for("outputs", lambda: len(case.got()) == 10)
    wait_for("it is noted", lambda: delivered(case) == 9)
    proxy.hold(call(16))  # a confirmation
    near.feed(10)
    wait_for("it is held", proxy.held.is_set)
    wait_for("it is noted", lambda: delivered(case) == 10)
    near.feed(11)
    wait_for("it is noted again", lambda: delivered(case) == 11)
    proxy.let_go()
    near.kill()
    same("delivered", 11, delivered(case))
    near = case.near()
    near.feed(*range(20))
    near.end_input()
    same("end", WHOLE, near.end())
    same("outputs", [(i, 0, i * i) for i in range(20)], case.got())
    far.term()
    proxy.close()


def delivered(case):
    return int(case.engine.ask("HGET", case.run.key("run"), "delivered") or 0)


CASES = [settings, password, password_echoed, no_database, strangers, away, away_deaf, away_idle,
         away_for_ever, grace_away, changed, crowded, swallowed, overtaken, on_their_way,
         late]

run_cases(CASES)
