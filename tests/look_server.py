"""look_server.py PATH MODE_FILE: stands for a program that serves its look.

It listens at the socket PATH. For each request it reads from MODE_FILE what to answer: a mode and a
number, such as "ok 12" or "mad 7". The number is that of the tasks, or a seed. Documents are as
docs/watch.md says, with numbers that grow from one to the next.
"""
import json
import os
import random
import socket
import sys
import threading
import time

path, mode_file = sys.argv[1:3]
begun = time.monotonic()
looks = 0


def counts(n):
    names = ["switches", "started", "received", "stolen", "moved", "sleeps"]
    return {name: n * (i + 1) for i, name in enumerate(names)} | {"timers": 3}


def party(number, kind="task", name=None, **more):
    return {
        "id": f"{kind[0]}{number}", "kind": kind, "name": name, "code": None, "scope": "s33",
        "state": "waiting", "since": number / 10, "more": None, "worker": number % 2,
        "line": None, "stack": 4096, "stack_size": 65536, "waits": [], "calls": None,
    } | more


def parties(tasks):
    wait = {"for": "receive", "of": "c34"}
    both = [wait, {"for": "send", "of": "c35"}]
    yield party(2, name="main", scope="s1", since=None, waits=[{"for": "join", "of": "s33"}])
    yield party(36, name="evil\x1b[31m\nnext\x07\x9b", since=None, state="running")
    yield party(37, name="reader (mill.c:30)", waits=both, more=0.312,
                calls=["mill+0xa166 next_quote+0x26", "mill+0xb000 main\x1b+0x1"])
    yield party(38, name="größe 世界", since=2.5, state="ready")
    yield party(0, "block", id="b7f", name="fetch (/src/mill/mill.c:40)", line=71, since=0.1,
                waits=[wait])
    yield party(0, "callback", id="k9", code="mill+0x1234 fn", waits=[wait], scope=None, since=7200)
    yield party(0, "timer", id="m1", code="mill+0x99 tick", scope=None, more=1.5, worker=None)
    for i in range(tasks):
        yield party(100 + i, name=f"worker {i}", since=100 + i, waits=[wait])


def document(tasks):
    global looks
    looks += 1
    up = time.monotonic() - begun + 10

    def scope(id, around, opener, members):
        return {"id": id, "around": around, "opener": opener, "joins": around is None,
                "cancelled": False, "ends": None, "members": members, "since": None}

    def channel(id, name, items, capacity, passed):
        return {"id": id, "name": name, "scope": "s33", "items": items, "capacity": capacity,
                "closed": False, "receivers": 2, "senders": 0, "passed": passed % 2**32,
                "holder": None}

    def stage(id, kind, name, numbers, ins, outs):
        keys = ["n", "running", "window", "held", "items"]
        return {"id": id, "kind": kind, "name": name, "scope": "s33", "block": "b7f",
                "closed": False, "in": ins, "inputs": 3 if id == "p2" else 1, "out": outs,
                "outputs": 1} | dict(zip(keys, numbers))

    def worker(number, cpu, answered, runs):
        return {"worker": number, "cpu": cpu, "answered": answered, "runs": runs, "calls": None,
                "ready": 0, "queued": looks} | counts(looks * 10)

    return {
        "leat": "0.2.0", "program": "mill", "pid": os.getpid(), "uptime": up, "took": 0.0012,
        "watches": {"waits": True, "stacks": True}, "sampled": tasks > 100,
        "members": 1000 + looks,
        "counts": counts(looks * 20) |
        {"stacks": 12, "stacks_free": 4, "threads": 2, "threads_free": 1},
        "workers": [worker(0, up * 0.25, True, "t36"), worker(1, up, False, None)],
        "scopes": [scope("s1", None, None, 2), scope("s33", "s1", "t2", 12),
                   scope("s40", "s33", "t37", 0)],
        "parties": list(parties(tasks)),
        # The count of quotes wraps around.
        "channels": [channel("c34", "quotes", 0, 0, 2**32 - 5 + looks * 1000),
                     channel("c35", "log", 8, 8, 7)],
        "descriptors": [{"id": "d7", "fd": 7, "scope": "s1", "closed": False, "readers": 1,
                         "writers": 0}],
        "batchers": [{"id": "g1", "name": "log", "scope": "s1", "closed": False, "forming": 1,
                      "running": 1, "batches": 5 * looks, "items": 50 * looks}],
        "stages": [stage("p1", "pipeline", "parse", [3, 2, 5, 4, looks * 100], ["c34"], ["c35"]),
                   stage("p2", "merge", None, [None] * 5, ["c35", "c99"], ["c34"])],
    }


def places(node):
    """All places of a document: a container and a key of it."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from places(node[key])


def mad(seed):
    """A document, of which some things are wrong."""
    chance = random.Random(seed)
    wrong = document(2)
    for _ in range(chance.randint(1, 3)):
        node, key = chance.choice(list(places(wrong)))
        values = [None, True, -1, 2**63, 1e308, -1e308, 0.5, "", "x" * 70, "t37", "\u202e\x00",
                  [], {}, [[]], {"id": "t1"}, [None], "c" * 300]
        if chance.random() < 0.3:
            del node[key]
        else:
            node[key] = chance.choice(values)
    text = bytearray(json.dumps(wrong).encode())
    if chance.random() < 0.3:
        for _ in range(chance.randint(1, 4)):
            text[chance.randrange(len(text))] = chance.randrange(256)
    if chance.random() < 0.1:
        del text[chance.randrange(len(text)):]
    return bytes(text)


def ok(body, status="200 OK", length=None):
    length = len(body) if length is None else length
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
            "Connection: close\r\n\r\n").encode() + body


def plain(status, line):
    return ok(line.encode() + b"\n", status)


def pieces(mode, number, request):
    """What to send, piece by piece."""
    body = json.dumps(document(number), ensure_ascii=number % 2 == 0).encode()
    if mode == "ok":
        yield ok(body)
    elif mode == "token":
        yield ok(body) if b"\r\nAuthorization: Bearer open sesame\r\n" in request \
            else plain("401 Unauthorized", "this look needs a token")
    elif mode == "slow":
        answer = ok(body)
        for at in range(0, len(answer), 100):
            time.sleep(0.001)
            yield answer[at:at + 100]
    elif mode == "halts":
        answer = ok(body)
        for at in range(0, 300, 100):
            yield answer[at:at + 100 if at < 200 else None]
            time.sleep(6)
    elif mode == "unknown-length":
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
    elif mode == "404":
        yield plain("404 Not Found", "there is no \x1b[31msuch page")
    elif mode == "500":
        yield b"HTTP/1.1 500 Trouble Here\r\n\r\n"
    elif mode == "cut":
        yield ok(body)[:-number]
    elif mode == "cut-head":
        yield ok(body)[:30]
    elif mode == "nothing":
        pass
    elif mode == "no-json":
        yield ok(b'{"leat": \x1b]0;')
    elif mode == "no-http":
        yield b"SSH-2.0-OpenSSH\r\n\r\n"
    elif mode == "long-head":
        yield b"HTTP/1.1 200 OK\r\n" + b"X-Field: 1\r\n" * 20000
    elif mode == "huge":
        yield ok(b"[", length=(64 << 20) + 1)
    elif mode == "endless":
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        for _ in range(100):
            yield b" " * (1 << 20)
    elif mode == "deep":
        yield ok(b"[" * 1000000)
    elif mode == "many":
        yield ok(b"[" + b"0," * 5000000 + b"0]")
    elif mode == "chunked":
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    elif mode == "mad":
        yield ok(mad(number))
    elif mode == "bytes":
        chance = random.Random(number)
        answer = bytearray(ok(b"{}"))
        for _ in range(chance.randint(1, 9)):
            answer[chance.randrange(len(answer))] = chance.choice(b"\r\n :0 9\0\xff")
        yield bytes(answer)


def serve(connection):
    with connection:
        request = b""
        while b"\r\n\r\n" not in request:
            got = connection.recv(4096)
            if not got:
                return
            request += got
        with open(mode_file + ".request", "wb") as file:
            file.write(request)
        with open(mode_file) as file:
            mode, number = file.read().split()
        try:
            for piece in pieces(mode, int(number), request):
                connection.sendall(piece)
        except OSError:
            pass  # leat look has heard enough


listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".new")
listener.listen()
os.rename(path + ".new", path)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
