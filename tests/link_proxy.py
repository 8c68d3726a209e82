"""link_proxy.py: a proxy before the engine that breaks connections, for the tests of libleat-link.

Requests are the chunks that come from a client. Each may be delayed, cut off before the engine gets
it, or swallowed: the engine gets it, and the connection is cut when the reply comes.
"""
import random
import socket
import threading
import time

from link_common import Listener


class Proxy:
    def __init__(self, path, seed, often):
        """`path`: of the engine's socket, or its host and port. `often`: one request in
        `often` has a fault; 0: none has."""
        self.path, self.often = path, often
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.count = {"delay": 0, "cut": 0, "swallow": 0}
        self.pairs = set()
        self.to_hold = self.to_swallow = self.then_hold = None
        self.to_spoil = False
        self.held, self.goes, self.answered = (threading.Event() for _ in range(3))
        self.delayed, self.passes = threading.Event(), None
        self.listener = Listener(self.accept)
        self.url = f"redis://127.0.0.1:{self.listener.port}"

    def accept(self, near):
        far = self.connect()
        pair = Pair(self, near.dup(), far)
        with self.lock:
            self.pairs.add(pair)
        pair.start()

    def connect(self):
        if isinstance(self.path, tuple):
            return socket.create_connection(self.path)
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self.path)
        except OSError:
            far.close()
            raise
        return far

    def choose(self, data):
        """The fault of a request, if it has one."""
        with self.lock:
            if self.to_swallow and self.to_swallow in data:
                self.to_swallow = None
                self.to_hold = self.then_hold or self.to_hold
                return "swallow"
            if not self.often or self.random.randrange(self.often):
                return None
            fault = self.random.choice(["delay", "cut", "swallow"])
            self.count[fault] += 1
            return fault

    def hold(self, word):
        """The next request with this word waits for let_go."""
        self.to_hold = word

    def swallow(self, word, then_hold=None):
        """The reply to the next request with this word does not pass. From then on, the next one
        with the other word waits."""
        self.to_swallow, self.then_hold = word, then_hold

    def spoil(self):
        """The next reply comes with a wrong byte."""
        self.to_spoil = True

    def spoiled(self, data):
        with self.lock:
            spoils, self.to_spoil = self.to_spoil, False
        return data[:-1] + bytes([data[-1] ^ 1]) if spoils else data

    def holds(self, data):
        with self.lock:
            holds = self.to_hold and self.to_hold in data
            if holds:
                self.to_hold = self.to_swallow = None
            return holds

    def delay_message(self):
        """The next message to a subscriber waits for pass_message."""
        self.passes = threading.Event()

    def pass_message(self):
        self.passes.set()

    def note_message(self, data):
        if self.passes and b"\r\nmessage\r\n" in data:
            self.delayed.set()
            self.passes.wait()

    def let_go(self):
        """Returns when the engine has answered."""
        self.goes.set()
        self.answered.wait()

    def cut_all(self):
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.cut()

    def close(self):
        self.listener.close()
        self.cut_all()


class Pair:
    def __init__(self, proxy, near, far):
        self.proxy, self.near, self.far = proxy, near, far
        self.swallows = False
        self.replied = threading.Event()
        self.left = 2

    def start(self):
        for run in self.requests, self.replies:
            threading.Thread(target=self.pump, args=[run], daemon=True).start()

    def pump(self, run):
        try:
            run()
        except OSError:
            pass
        self.cut()
        with self.proxy.lock:
            self.left -= 1
            if self.left:
                return
            self.proxy.pairs.discard(self)
        self.near.close()
        self.far.close()

    def cut(self):
        for end in self.near, self.far:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def requests(self):
        while data := self.near.recv(1 << 16):
            fault = self.proxy.choose(data)
            if fault == "delay":
                time.sleep(self.proxy.random.random() / 20)
            elif fault == "cut":
                return
            elif fault == "swallow":
                self.swallows = True
            holds = self.proxy.holds(data)
            if holds:
                self.proxy.held.set()
                self.proxy.goes.wait()
                self.replied.clear()
            self.far.sendall(data)
            if holds:
                self.replied.wait()
                self.proxy.answered.set()
        # The engine still gets to know all that came before.
        self.far.shutdown(socket.SHUT_WR)

    def replies(self):
        while data := self.far.recv(1 << 16):
            self.replied.set()
            if self.swallows:
                return
            self.proxy.note_message(data)
            self.near.sendall(self.proxy.spoiled(data))
