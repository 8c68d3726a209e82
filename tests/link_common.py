"""link_common.py: an engine, near ends and far ends as processes, for the tests of libleat-link.

A Bench has a folder of its own, and ends all that it has started. Everything waits for states, by
polling; a minute without the state is a failure.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS = os.environ["LEAT_PROGRAMS"]
PATIENCE = 60
SAFE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}


class Failed(Exception):
    pass


def check(true, what):
    if not true:
        raise Failed(what)


def same(what, wanted, got):
    check(wanted == got, f"{what}: wanted {wanted!r}, got {got!r}")


def wait_for(what, state):
    """Polls until state() is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while True:
        now = state()
        if now:
            return now
        check(time.monotonic() < end, f"waited a minute for this: {what}")
        time.sleep(0.002)


class Listener:
    """A server at a port, which calls serve(connection) for one connection after another."""

    def __init__(self, serve):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, args=[serve], daemon=True)
        self.thread.start()

    def accept(self, serve):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                serve(connection)

    def close(self):
        """The thread has ended before the descriptor is closed: a call that is interrupted begins
        again, and would then accept what comes to another socket of that number."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


class EngineError(Exception):
    pass


class Client:
    """A connection to the engine, for the test itself."""

    def __init__(self, path, password=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        if password:
            self("AUTH", password)

    def __call__(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line:
            raise OSError("the engine has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise EngineError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))] if int(rest) >= 0 else None
        return rest.decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Engine:
    """A redis-server at a socket of the bench's folder."""

    def __init__(self, bench, settings=None, password=None):
        self.bench, self.password = bench, password
        self.folder = tempfile.mkdtemp(dir=bench.folder)
        self.path = self.folder + "/socket"
        self.url = "redis+unix:" + self.path
        self.start(settings or {})

    def start(self, settings):
        words = [f"--{name} {value}" for name, value in (SAFE | settings).items()]
        if self.password:
            words.append(f"--requirepass {self.password}")
        self.process = self.bench.start(
            ["redis-server", "--port 0", "--save ''", f"--dir {self.folder}",
             f"--unixsocket {self.path}", *words], self.folder + "/log")
        wait_for("the engine answers", self.answers)
        self.ask = Client(self.path, self.password)

    def answers(self):
        check(self.process.poll() is None, "redis-server has ended: see its log")
        try:
            client = Client(self.path, self.password)
        except (OSError, EngineError):
            return False
        try:
            return client("PING") == "PONG"
        except (OSError, EngineError):
            return False
        finally:
            client.close()

    def kill(self):
        self.ask.close()
        self.process.kill()
        self.process.wait()

    def restart(self, settings=None):
        self.kill()
        self.start(settings or {})


class Run:
    """What the engine has of a run."""

    def __init__(self, engine, stage, run, prefix="leat:"):
        self.engine, self.name = engine, run
        self.stage = f"{prefix}{{{stage}}}"

    def key(self, name):
        return f"{self.stage}:{self.name}:{name}"

    def count(self, name):
        ask = {"leases": "ZCARD", "queue": "LLEN", "results": "XLEN"}.get(name, "HLEN")
        return self.engine.ask(ask, self.key(name))

    def published(self):
        return int(self.engine.ask("HGET", self.key("run"), "published") or 0)

    def exists(self):
        return any(self.engine.ask("EXISTS", self.key(name)) for name in (
            "run", "items", "queue", "leases", "owners", "tries", "results", "waiting"))

    def is_open(self):
        return self.engine.ask("SISMEMBER", self.stage + ":runs", self.name) == 1


class Program:
    """A near end or a far end."""

    def __init__(self, bench, words, options, environment=None):
        self.bench = bench
        words = [*words, *(f"{name}={value}" for name, value in options.items())]
        self.errors = tempfile.mktemp(dir=bench.folder)
        self.process = bench.start(words, self.errors, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, environment=environment)
        self.pid = self.process.pid

    def feed(self, *lines):
        """A program that has ended already is not fed: its end shows why."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
            self.process.stdin.flush()

    def end_input(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def kill(self):
        self.process.kill()
        return self.end()

    def term(self):
        self.process.terminate()
        return self.end()

    def end(self):
        """Waits for its end. Returns what it has said, as a dictionary of numbers."""
        said = {}
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"process {self.pid} does not end: {self.process.args}") from None
        for line in self.process.stdout.read().decode().splitlines():
            name, _, number = line.partition(" ")
            said[name] = int(number or 0)
        check(status in (0, -signal.SIGKILL),
              f"status {status} of {self.process.args}: {self.messages()}")
        return said

    def messages(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def wait_for_message(self, text):
        """Fails if the program ends without it."""
        wait_for(f"{text!r} of {self.process.args}",
                 lambda: text in self.messages() or self.process.poll() is not None)
        if text not in self.messages():
            raise Failed(f"no {text!r} of {self.process.args}: it has said {self.end()}, "
                         f"{self.messages()}")


class Bench:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="leat-link-")
        self.processes = []
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process, _ in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for file in (process.stdin, process.stdout):
                if file:
                    try:
                        file.close()
                    except OSError:
                        pass
        shutil.rmtree(self.folder)

    def start(self, words, errors, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
              environment=None):
        """Starts a process that ends with this one."""
        with open(errors, "ab") as file:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *words], stdin=stdin, stdout=stdout, stderr=file,
                env=os.environ | (environment or {}))
        self.processes.append((process, errors))
        return process

    def tell(self):
        """Prints what became of all processes, and what they have printed as errors."""
        for process, errors in self.processes:
            with open(errors, encoding="utf-8", errors="replace") as file:
                print(process.args, process.poll(), file.read()[-2000:], flush=True)

    def engine(self, settings=None, password=None):
        return Engine(self, settings, password)

    def file(self):
        self.number += 1
        return f"{self.folder}/file{self.number}"

    def far(self, url, stage, log, environment=None, **options):
        return Program(self, [PROGRAMS + "/link_far", url, stage, log], options, environment)

    def near(self, url, stage, run, outputs, environment=None, **options):
        return Program(self, [PROGRAMS + "/link_near", url, stage, run, outputs], options,
                       environment)


def read_outputs(path):
    """[(index, status, value)], and how many came again."""
    outputs, again = [], 0
    for line in read_lines(path):
        if line.startswith("again"):
            again += 1
        else:
            outputs.append(tuple(int(word) for word in line.split()))
    return outputs, again


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def read_log(path):
    """What far ends have noted: [(start, end or late, key, number, pid)]. For a start the number
    says how often the item was tried before, for an end it is the status."""
    return [(what, key, int(number), int(pid))
            for what, key, number, pid in map(str.split, read_lines(path))]


def starts(path, index=None):
    return [line for line in read_log(path) if line[0] == "start" and
            index in (None, int(line[1].split("/")[1]))]


def most_at_once(log):
    """Of the items that far ends work on. From its first `kill` or `stop` on, a far end counts no
    more: what it has may be another's."""
    running, left, most = set(), set(), 0
    for what, key, _, pid in log:
        if what in ("kill", "stop"):
            left.add(pid)
            running = {one for one in running if one[1] != pid}
        elif what == "end":
            running.discard((key, pid))
        elif what == "start" and pid not in left:
            running.add((key, pid))
            most = max(most, len(running))
    return most


WHOLE = {"opened": 0, "ending": -32, "verdict": 0}
SERVED = {"serves": 0, "served": -125}
HOUR = 3600000


class Case:
    """A stage of its own, with files of its own."""

    def __init__(self, bench, engine, name):
        self.bench, self.engine, self.stage = bench, engine, name
        self.outputs, self.log, self.go = bench.file(), bench.file(), bench.file()
        self.run = Run(engine, name, "run")

    def near(self, run="run", outputs=None, **options):
        return self.bench.near(self.engine.url, self.stage, run, outputs or self.outputs, **options)

    def far(self, **options):
        return self.bench.far(self.engine.url, self.stage, self.log, **options)

    def got(self):
        return read_outputs(self.outputs)[0]

    def wait_here(self, number):
        return f"{number} wait={self.go}"

    def let_go(self):
        with open(self.go, "w", encoding="utf-8"):
            pass

    def wait_for_listener(self):
        """A far end asks for items before it listens, and again when it does."""
        wait_for("the far end listens", lambda: self.engine.ask(
            "PUBSUB", "NUMSUB", self.run.stage)[1] == 1)

    def wait_for_starts(self, count, index=None):
        wait_for(f"{count} starts", lambda: len(starts(self.log, index)) >= count)


def run_cases(cases):
    """Each with a stage of its own; or only those that the command line names."""
    with Bench() as bench:
        engine = bench.engine()
        for case in cases:
            if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
                print(case.__name__, flush=True)
                try:
                    case(Case(bench, engine, case.__name__))
                except Failed:
                    bench.tell()
                    raise
