"""leat_gdb_program.py: reads what exists in a program that uses leat, for leat-gdb.py."""

import re
from collections import defaultdict

import gdb

MOST = 10_000_000  # entries of a list: one that is just being changed might be a ring

# ---- reading structs ----

def at(kind, address):
    kind = gdb.lookup_type(kind) if isinstance(kind, str) else kind
    return gdb.Value(int(address)).cast(kind.pointer()).dereference()


def offset(kind, path):
    """The bytes from the beginning of a struct to `path`, as in "stackless.member"."""
    total = 0
    kind = gdb.lookup_type(kind) if isinstance(kind, str) else kind
    for name in path.split("."):
        field = next(field for field in kind.strip_typedefs().fields() if field.name == name)
        total += field.bitpos // 8
        kind = field.type
    return total


def container(address, kind, path):
    return at(kind, int(address) - offset(kind, path))


def text(pointer):
    try:
        string = pointer.string(errors="replace") if int(pointer) else ""
        return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", string)  # they may command a terminal
    except gdb.MemoryError:
        return "?"


def variable(name):
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError("no debug information of libleat: is it stripped, or not loaded yet?")
    return symbol.value()


def chain(first):
    """The addresses in a list of parties that a NULL ends."""
    address = int(first)
    for _ in range(MOST):
        if not address:
            return
        yield address
        address = int(at("struct lt_party", address)["next"])


def ring(head, kind, path):
    """The structs in a list of struct lt_node; `path` is their node."""
    step = offset(kind, path)
    end, node = int(head.address), head["next"]
    for _ in range(MOST):
        if not int(node) or int(node) == end:
            return
        yield at(kind, int(node) - step)
        node = node.dereference()["next"]


def function_at(address):
    """The name of a function and its file, as they were compiled."""
    block, found = gdb.block_for_pc(int(address)), None
    while block:  # the outermost, not one that is inlined at its beginning
        found, block = block.function or found, block.superblock
    return (found.name, found.symtab.filename) if found else (hex(int(address)), "")


# ---- the program ----

def kind_of(party):
    return str(party["kind"].cast(gdb.lookup_type("enum lt_party_kind")))


class Program:
    """What exists at this moment."""

    def __init__(self):
        self.runtime = variable("lt_runtime")
        count = int(self.runtime["worker_count"])
        self.workers = [self.runtime["workers"][i].dereference() for i in range(count)]
        if not self.workers:
            raise gdb.GdbError("no runtime of leat is there")
        self.threads = self.find_threads()  # with their stack pointers
        self.ready, self.queued = set(), set()
        self.parties = {}  # by address
        self.members = defaultdict(list)  # parties, by their scope's address
        self.scopes = []  # (scope, depth), in the order of the tree
        self.find_scopes(variable("lt_root")["children"], 0)
        self.find_queued()

    @staticmethod
    def find_threads():
        before, found = gdb.selected_thread(), []
        if before is None:
            raise gdb.GdbError("the program is not being run")
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            found.append((thread, int(gdb.newest_frame().read_register("sp"))))
        before.switch()
        return found

    def add(self, party, scope):
        if int(party.address) not in self.parties:
            self.parties[int(party.address)] = party
            self.members[int(scope)].append(party)

    def find_scopes(self, head, depth):
        for scope in ring(head, "struct leat_scope", "sibling"):
            self.scopes.append((scope, depth))
            for task in ring(scope["tasks"], "struct lt_task", "member"):
                self.add(task["party"], scope.address)
            for party in ring(scope["stackless"], "struct lt_stackless", "member"):
                self.add(party["party"], scope.address)
            for thread in ring(scope["threads"], "struct lt_thread", "member"):
                self.add(thread["party"], scope.address)
            self.find_scopes(scope["children"], depth + 1)

    def find_queued(self):
        """The parties in queues, and those that run: they may never have waited."""
        for worker in self.workers:
            self.ready.update(chain(worker["ready_head"]), chain(worker["inbox"]))
            queue = worker["local_queue"]
            head, size = int(queue["head"]), queue["slots"].type.range()[1] + 1
            for i in range((int(queue["tail"]) - head) % (1 << 32)):
                self.queued.add(int(queue["slots"][(head + i) % size]))
            if int(worker["pending"]):
                self.queued.add(int(worker["pending"]))
            if int(worker["running"]):
                task = at("struct lt_task", worker["running"])
                self.add(task["party"], self.scope_of(task["party"]))
        for symbol in gdb.lookup_static_symbols("queue"):
            if symbol.symtab.filename.endswith("sched/global_queue.c"):
                self.queued.update(chain(symbol.value()["head"]))
        for address in self.ready | self.queued:
            party = at("struct lt_party", address)
            if kind_of(party) != "LT_JOB":
                self.add(party, self.scope_of(party))

    @staticmethod
    def scope_of(party):
        """The scope that a party belongs to, not one that it has opened."""
        scope = party["scope"]
        if int(party["timer_home"]):
            scope = at("struct lt_alarm", scope)["scope"]
        while int(scope) and int(scope["opener"]) == int(party.address):
            scope = scope["around"]
        return int(scope)

    def tasks(self):
        parties = [party for party in self.parties.values() if kind_of(party) == "LT_TASK"]
        tasks = [container(party.address, "struct lt_task", "party") for party in parties]
        return sorted(tasks, key=lambda task: int(task["number"]))

    def thread_of(self, task):
        """The thread that runs the task, or None: its stack pointer is in the task's stack or, when
        that has overflowed, in the guard below; or it handles a signal on another stack."""
        try:
            stack = task["stack"].dereference()
            for thread, sp in self.threads:
                if int(stack["base"]) <= sp < int(stack.address):
                    return thread
            home = at("struct lt_worker", task["home"])
            if int(home["running"]) == int(task.address):
                return gdb.selected_inferior().thread_from_handle(home["thread"])
        except gdb.error:  # it has not started; or no core dump has that; or no libthread_db
            pass
        return None
