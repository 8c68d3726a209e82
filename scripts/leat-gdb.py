"""leat-gdb.py: shows leat's tasks in gdb, in a program that runs and in a core dump.

    source /usr/local/share/leat/leat-gdb.py

    info leat        workers, scopes, tasks, blocks, threads, channels, descriptors, batchers, and
                     what waits for what
    leat bt 37       the call stack of task 37; options of `bt` may follow: `leat bt 37 full`
    leat bt all      the call stacks of all tasks that have started

It reads the library's structs, so libleat must have its debug information. It calls nothing in the
program and writes nothing to it. docs/watch.md says more."""

import os
import re
import struct
import sys
from types import SimpleNamespace

import gdb
from gdb.unwinder import Unwinder, register_unwinder

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from leat_gdb_program import (
    Program, at, chain, container, function_at, kind_of, ring, text, variable)

LOST = "its stack cannot be read, or is not in the core dump"

# ---- telling ----

def moment(ns):
    return f"{int(ns) / 1e9:.3f} s of CLOCK_MONOTONIC"


def tell_channel(channel):
    return f"channel {int(channel['number'])} {text(channel['name'])}".rstrip()


def tell_block(block):
    return f"block {text(block['type']['name'])}".rstrip()


def tell_who(party):
    kind = kind_of(party)
    if kind == "LT_TASK":
        task = container(party.address, "struct lt_task", "party")
        return f"task {int(task['number'])} {text(task['name'])}".rstrip()
    if kind == "LT_BLOCK":
        return tell_block(at("struct leat_block", party.address))
    if kind == "LT_CALLBACK":
        return f"callback {function_at(at('struct leat_op', party.address)['leat_fn'])[0]}"
    if kind == "LT_THREAD":
        thread = container(party.address, "struct lt_thread", "party")
        return f"thread {text(thread['name'])}" if int(thread["name"]) else "a thread"
    return "timer" if kind == "LT_TIMER" else kind


def readiness_of(channel):
    """The descriptor that the channel is a part of, and for what it is ready when the channel is
    raised, as in io/io.c; None for any other channel."""
    keeper = channel["keeper"]
    if not int(channel["kept"]) or not int(keeper["see"]):
        return None
    name, path = function_at(keeper["see"])
    if not path.endswith("io/io.c"):
        return None
    extra = int(channel["items"].address)
    if name == "see_readable":
        return at("struct leat_io", extra), "read"
    return at(gdb.lookup_type("struct leat_io").pointer(), extra).dereference(), "write"


def tell_descriptor(descriptor):
    fd = int(descriptor["fd"])
    return f"descriptor {fd}" if fd >= 0 else "simulated descriptor"


def tell_aim(aim, thing):
    """`thing`: a channel or, for LT_FOR_CALL, a function."""
    if str(aim) == "LT_FOR_CALL":
        return f"for a call of {function_at(thing)[0]}"
    channel = at("struct leat_chan", thing)
    readiness = readiness_of(channel)
    if readiness:
        descriptor, way = readiness
        return f"to {way} {'from' if way == 'read' else 'to'} {tell_descriptor(descriptor)}"
    how = "send to" if str(aim) in ("LT_SEND", "LT_TO_SEND") else "receive from"
    return f"to {how} {tell_channel(channel)}"


def aims_of(wait):
    """What a task waits for. The file of the function that says so in dumps shows which it is."""
    describe = int(wait["kind"]["describe"])
    if not describe:
        return []
    name, path = function_at(describe)
    file = "/".join(path.split("/")[-2:])

    def outer(kind):
        kind = gdb.lookup_type("struct " + kind, gdb.block_for_pc(describe))
        return container(wait, kind, "wait")

    if file == "chan/operate.c":
        operation = outer("lt_chan_wait")
        return [tell_aim(operation["side"], operation["ch"])]
    if file == "chan/select.c":
        selection = outer("selecting")["selection"]
        cases = [selection["cases"][i] for i in range(int(selection["n"]))]
        send = 2  # LEAT_CASE_SEND, of an enum without a name
        sides = ["LT_SEND" if int(case["op"]) == send else "LT_RECEIVE" for case in cases]
        return [tell_aim(side, case["ch"]) for side, case in zip(sides, cases) if int(case["ch"])]
    if file == "scope/crowd.c":
        waiter = outer("lt_crowd_waiter")
        return [tell_aim(waiter["aim"], waiter["object"])]
    if file == "scope/scope.c":
        return [f"for the tasks of scope {int(outer('joining')['scope']['number'])}"]
    if file == "scope/blocking.c":
        return [tell_aim("LT_FOR_CALL", outer("call")["fn"])]
    if file == "io/ring.c":
        transfer = outer("ring_wait")
        how = "read from" if str(transfer["way"]) == "LT_IN" else "write to"
        return [f"to {how} {tell_descriptor(transfer['io'].dereference())}"]
    if file == "block/block.c":
        return ["for the end of " + tell_block(outer("awaiting")["block"].dereference())]
    return [f"({name} in {file})"]


def tell_task(program, task):
    """The task's state, and the cases of its select."""
    wait, thread = task["party"]["wait"], program.thread_of(task)
    if thread:
        return f"runs, in thread {thread.num}", []
    if not int(task["home"]):
        return "has not started", []
    if any(int(worker["running"]) == int(task.address) for worker in program.workers):
        return "runs", []
    where = f", on worker {int(at('struct lt_worker', task['home'])['index'])}"
    if int(task["party"].address) in program.ready or not int(wait):
        return "is ready to go on" + where, []
    try:
        aims = aims_of(wait)
    except gdb.MemoryError:
        return f"waits; {LOST}{where}", []
    if int(wait["timer"]["node"]["next"]):
        where = f", until {moment(wait['timer']['deadline'])}{where}"
    if not aims:
        return "sleeps" + where, []
    if len(aims) == 1:
        return f"waits {aims[0]}{where}", []
    return "waits in a select" + where, aims


def tell_stackless(program, party):
    address, line = int(party.address), ""
    if kind_of(party) == "LT_BLOCK":
        line = f" at line {int(at('struct leat_block', address)['line'])}"
    if address in program.queued:
        return "has not started" if line.endswith(" 0") else "is ready to go on"
    if not int(party["unclaimed"]):
        return "is ready to go on" if address in program.ready else "runs, or is about to"
    operation = str(party["operation"].cast(gdb.lookup_type("enum lt_operation")))
    if operation in ("LT_OP_RECEIVE", "LT_OP_SEND"):
        side = "LT_SEND" if operation == "LT_OP_SEND" else "LT_RECEIVE"
        return f"waits{line} " + tell_aim(side, party["next"])
    if operation == "LT_OP_AWAIT":
        item = at("struct lt_machine", address)["waiter"]["item"]
        awaited = at("struct leat_block", item)
        return f"waits{line} for the end of " + tell_block(awaited)
    if operation == "LT_OP_SELECT":
        return f"waits{line} in a select"
    return f"sleeps{line}"


def show_party(program, party, indent):
    kind, more = kind_of(party), []
    if kind == "LT_TASK":
        state, more = tell_task(program, container(party.address, "struct lt_task", "party"))
    elif kind in ("LT_BLOCK", "LT_CALLBACK"):
        state = tell_stackless(program, party)
    else:
        state = "see info threads" if kind == "LT_THREAD" else "is set"
    print(f"{indent}{tell_who(party)}: {state}")
    for aim in more:
        print(f"{indent}  {aim}")


def waiters_of(queue):
    """The parties in a queue of a channel. None: the party's stack is lost."""
    for waiter in ring(queue, "struct lt_waiter", "node"):
        if int(waiter["embedded"]):
            machine = container(waiter.address, "struct lt_machine", "waiter")
            party = machine["stackless"]["party"]
        else:
            far = container(waiter.address, "struct lt_far_waiter", "waiter")
            party = far["party"].dereference()
        try:
            if not int(waiter["shared"]) or int(party["unclaimed"]):
                yield party
        except gdb.MemoryError:
            yield None


def show_waiters(queue, what, indent):
    for party in waiters_of(queue):
        if party is None:
            print(f"{indent}a waiter: {LOST}")
        else:
            print(f"{indent}{tell_who(party)} waits to {what}")


def show_channel(channel, indent):
    count = int(channel["count"])
    if int(channel["split"]):
        ends = at("struct lt_split", channel["split"])["of"]
        count = int(ends[1]["moved"]) - int(ends[0]["moved"])
    closed = ", closed" if int(channel["closed"]) else ""
    print(f"{indent}{tell_channel(channel)}: {count} of {int(channel['capacity'])} items{closed}")
    show_waiters(channel["receivers"], "receive", indent + "  ")
    show_waiters(channel["senders"], "send", indent + "  ")


def show_descriptor(readable, descriptor, indent):
    """Parties wait for a way to be ready by receiving from its channel."""
    closed = int(descriptor["users"]) & 1 << 31  # LT_IO_CLOSED
    queues = [(readable["receivers"], "read")]
    if int(descriptor["writable"]):
        queues.append((at("struct leat_chan", descriptor["writable"])["receivers"], "write"))
    counts = [(len(list(waiters_of(queue))), what) for queue, what in queues]
    waiting = [f"{n} {'waits' if n == 1 else 'wait'} to {what}" for n, what in counts if n]
    state = "closed" if closed else ", ".join(waiting) or "open"
    print(f"{indent}{tell_descriptor(descriptor)}: {state}")
    for queue, what in queues:
        show_waiters(queue, what, indent + "  ")


def show_batcher(batcher, indent):
    def count(batches, state):
        batches = list(ring(batcher[batches], "struct lt_batch", "node"))
        return sum(str(batch["state"]) == state for batch in batches)

    def several(n, what, ending):
        return f"{n} {what}{'' if n == 1 else ending}"

    name = text(batcher["spec"]["name"])
    name = "batcher" if name == "batcher" else f"batcher {name}"  # its name without one
    forming, running = count("forming", "LT_FORMING"), count("held", "LT_BEGUN")
    items = several(int(batcher["counts"]["items"]), "item", "s")
    batches = several(int(batcher["counts"]["batches"]), "batch", "es")
    closed = ", closed" if int(batcher["closed"]) else ""
    print(f"{indent}{name}: {forming} forming, {running} running, {items} in {batches} so far"
          f"{closed}")


def show_owned(owned, indent):
    """An object that a scope owns, if dumps show such objects: `kind` shows which it is."""
    name, path = function_at(owned["kind"]["free"])
    where = "/".join(path.split("/")[-2:]) + ":" + name
    if where == "chan/chan.c:destroy_owned":
        show_channel(container(owned.address, "struct leat_chan", "owned"), indent)
    elif where == "io/io.c:free_owned":
        channel = container(owned.address, "struct leat_chan", "owned")
        show_descriptor(channel, at("struct leat_io", int(channel["items"].address)), indent)
    elif where == "batch/batcher.c:free_batcher":
        show_batcher(container(owned.address, "struct leat_batcher", "owned"), indent)


def show_orphan(channel, indent):
    """A channel in no scope; of the two that a descriptor may have, the one for reading shows
    the descriptor, unless a scope owns that, or it is just being made."""
    readiness = readiness_of(channel)
    if not readiness:
        show_channel(channel, indent)
        return
    descriptor, way = readiness
    if way == "read" and int(descriptor["users"]) and not int(channel["owned"]["kind"]):
        show_descriptor(channel, descriptor, indent)


def show_worker(worker):
    if int(worker["running"]):
        task = at("struct lt_task", worker["running"])
        state = "runs " + tell_who(task["party"])
    else:
        state = "sleeps" if int(worker["asleep"]) else "runs no task"
    ready, timers = len(list(chain(worker["ready_head"]))), int(worker["wheel"]["count"])
    print(f"worker {int(worker['index'])}: {state}, {ready} ready, {timers} timers")


def show_scope(program, scope, depth):
    indent, end = "  " * depth, ""
    if int(scope["cancelled"]):
        end = ", cancelled"
    elif int(scope["deadline"]) != (1 << 63) - 1:
        end = f", cancelled at {moment(scope['deadline'])}"
    opener = tell_who(scope["opener"].dereference())
    print(f"{indent}scope {int(scope['number'])}, opened by {opener}{end}")
    for party in program.members.pop(int(scope.address), []):
        show_party(program, party, indent + "  ")
    for owned in ring(scope["owned"], "struct lt_owned", "node"):
        show_owned(owned, indent + "  ")


def info_leat(argument):
    """Show leat's workers, scopes, tasks, blocks, threads, channels, descriptors and batchers."""
    program = Program()
    for worker in program.workers:
        show_worker(worker)
    for scope, depth in program.scopes:
        show_scope(program, scope, depth)
    print("in no scope")
    for party in sum(program.members.values(), []):  # what the scopes have left
        show_party(program, party, "  ")
    for channel in ring(variable("lt_root")["owned"], "struct leat_chan", "owned.node"):
        show_orphan(channel, "  ")


# ---- call stacks ----

class ParkedUnwinder(Unwinder):
    """While `task` is set, the caller of the thread's innermost frame is not its real one, but the
    place where the task left its stack (src/arch/switch_*.S). So gdb walks the task's stack itself,
    and nothing is written: that works in a core dump, too."""

    def __init__(self):
        super().__init__("leat")
        self.enabled = False
        self.task = self.saved = self.innermost = None

    def __call__(self, frame):
        pc = frame.read_register("pc")
        if (int(frame.read_register("sp")), int(pc)) != self.innermost:
            return None

        def word(value, register):
            return gdb.Value(value).cast(frame.read_register(register).type)

        # Below the task's frames, or gdb would take its stack for a broken one.
        low = word(int(self.task["sp"]), "sp")
        unwind = frame.create_unwind_info(SimpleNamespace(sp=low, pc=pc))
        for register, value in self.saved.items():
            unwind.add_saved_register(register, word(value, register))
        return unwind

    @staticmethod
    def read_saved(sp):
        is_x86 = "x86-64" in gdb.newest_frame().architecture().name()
        size = 16 if is_x86 else 160
        words = struct.unpack(f"<{size // 8}Q", gdb.selected_inferior().read_memory(sp, size))
        if not words[1 if is_x86 else 11]:  # a return address
            raise gdb.MemoryError
        if is_x86:
            return {"rbp": words[0], "rip": words[1], "rsp": sp + size}
        registers = {f"x{19 + i}": words[i] for i in range(12)}
        return {**registers, "pc": words[11], "sp": sp + size}

    def show(self, task, options):
        frame, level = gdb.newest_frame(), gdb.selected_frame().level()
        hidden = 1  # the thread's innermost frame, with the functions that are inlined there
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
            hidden += 1
        self.innermost = (int(frame.read_register("sp")), int(frame.pc()))
        self.task, self.saved = task, self.read_saved(int(task["sp"]))
        try:
            self.enabled = True
            gdb.invalidate_cached_frames()
            show_frames(gdb.execute("bt " + options, to_string=True), hidden)
        finally:
            self.enabled = False
            gdb.invalidate_cached_frames()
            frame = gdb.newest_frame()
            for _ in range(level):
                frame = frame.older()
            frame.select()


def show_frames(backtrace, hidden):
    """Prints a backtrace without its first frames, and numbers the others from 0."""
    for frame in re.split(r"^(?=#\d)", backtrace, flags=re.M):
        number = re.match(r"#(\d+) *", frame)
        if number is None:
            print(frame, end="")
        elif int(number[1]) >= hidden:
            print(f"{f'#{int(number[1]) - hidden}':<3} {frame[number.end():]}", end="")


def show_stack(program, task, options=""):
    state, _ = tell_task(program, task)
    print(f"{tell_who(task['party'])}: {state}")
    thread = program.thread_of(task)
    if thread:
        before = gdb.selected_thread()
        thread.switch()
        show_frames(gdb.execute("bt " + options, to_string=True), 0)
        before.switch()
    elif int(task["sp"]):
        try:
            unwinder.show(task, options)
        except gdb.MemoryError:
            print(LOST)


def leat_bt(argument):
    """Show the call stack of a task: leat bt NUMBER|all [OPTION OF bt]..."""
    which, _, options = argument.partition(" ")
    if which != "all" and not which.isdigit():
        raise gdb.GdbError("leat bt NUMBER|all [OPTION OF bt]...")
    program = Program()
    tasks = [task for task in program.tasks() if which in ("all", str(int(task["number"])))]
    if not tasks and which != "all":
        raise gdb.GdbError(f"no task has the number {which}")
    for task in tasks:
        if which != "all" or int(task["home"]):
            show_stack(program, task, options)


class Command(gdb.Command):
    def __init__(self, name, kind, run):
        self.__doc__ = run.__doc__
        self.run = run
        super().__init__(name, kind)

    def invoke(self, argument, from_tty):
        self.run(argument)


unwinder = ParkedUnwinder()
register_unwinder(None, unwinder, replace=True)
Command("info leat", gdb.COMMAND_STATUS, info_leat)
gdb.Command("leat", gdb.COMMAND_STACK, prefix=True)
Command("leat bt", gdb.COMMAND_STACK, leat_bt)
