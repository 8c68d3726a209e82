"""The rows of the table: what is measured, and what leat has promised for each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str  # as the programs list it
    title: str
    metric: str = "ns/op"
    unit: str = "ns"
    # Other ways to do the same work with leat. Its program calls them NAME_WAY.
    ways: tuple = ()
    # The most that leat may take on one core, as a part of Go's time; and the same for the ways.
    bar: float | None = None
    way_bars: tuple = ()
    # The most on one core, in the row's unit; and the same for the ways.
    limit: float | None = None
    way_limits: tuple = ()
    # For OS threads: the most on two cores, as a part of crossbeam's time.
    crossbeam: float | None = None
    cores: tuple = (1, 2)  # the numbers of cores that the row runs on
    timing: bool = True  # False: memory, where no ratio of times can be promised

    def program(self, way):
        return f"{self.name}_{way}" if way else self.name

    def label(self, way):
        return f"{self.title}, {way}" if way else self.title

    def bar_of(self, way):
        return dict(self.way_bars).get(way) if way else self.bar

    def limit_of(self, way):
        return dict(self.way_limits).get(way) if way else self.limit


B, M = "blocks", "many"

ROWS = (
    Row("yield", "yield between two", ways=(B,), bar=0.15),
    Row("pingpong", "ping-pong over two unbuffered channels, round trip", ways=(B,), bar=0.27),
    Row("unbuffered_1to1", "unbuffered, 1 to 1", ways=(B,), bar=0.27),
    Row("unbuffered_4to4", "unbuffered, 4 to 4", ways=(B,), bar=0.27),
    Row("buffered_1to1", "buffer of 128, 1 to 1", ways=(B, M), bar=0.33, way_bars=((M, 0.1),)),
    Row("buffered_4to4", "buffer of 128, 4 to 4", ways=(B, M), bar=0.33, way_bars=((M, 0.1),)),
    Row("select_4", "select over 4 channels with 4 senders", bar=0.27),
    Row("poll_1", "poll of an empty channel"),
    Row("poll_4", "poll of 4 empty channels", bar=0.2),
    Row("spawn_1", "start and join, one at a time", ways=(B,)),
    Row("spawn_1000", "start and join, 1,000 at a time", ways=(B,), bar=0.2),
    Row("server", "server: requests that come, wait once and go", ways=(B,)),
    Row("parked", "1,000,000 parked receivers: resident, each", "bytes", "bytes", ways=(B,),
        limit=4400, way_limits=((B, 160),), timing=False),
    Row("parked", "… page tables, each", "page table bytes", "bytes", ways=(B,), timing=False),
    Row("parked", "… created, each", "create ns", ways=(B,)),
    Row("parked", "… woken, each", "wake ns", ways=(B,)),
    Row("ring", "ring of 1,000, a hop", ways=(B,), bar=0.25),
    Row("sieve", "prime sieve to the 2,000th prime", "ms", "ms", bar=0.27),
    Row("sleepers", "1,000,000 sleepers of 1 to 1,000 ms: CPU, each", "CPU ns", ways=(B,),
        bar=0.75, way_bars=((B, 0.1),)),
    Row("timeout_channel", "timeout channel made", ways=("spread", "exact"), bar=0.15),
    Row("timer", "timer started and stopped", bar=0.25),
    Row("pipeline", "pipeline of 3 stages, buffers of 64", bar=0.27),
    Row("ordered_map", "ordered parallel map, n = 2", bar=0.3),
    Row("batch", "64 callers through one batcher", ways=("mutex", "task")),
    Row("cancel", "cancel of a scope with 100,000 parked, each", ways=(B,)),
    Row("thread_pingpong", "OS threads: unbuffered ping-pong, round trip", crossbeam=1.1),
    Row("thread_buffered_1to1", "OS threads: buffer of 128, 1 to 1", crossbeam=1.0),
    Row("thread_buffered_4to4", "OS threads: buffer of 128, 4 to 4", crossbeam=1.0),
    Row("thread_select_4", "OS threads: select over 4 channels with 4 senders"),
    Row("thread_to_task", "thread to task, buffer of 128"),
    Row("task_to_thread", "task to thread, buffer of 128"),
    Row("thread_task_pingpong", "thread and task: unbuffered ping-pong, round trip", ways=("one",)),
)

# Two cores may cost leat this much more than one.
SECOND_CORE = 1.1
# Rows that fill memory -> the GiB to touch before each sample.
HUNGRY = {"parked": 5, "sleepers": 5, "cancel": 1, "timeout_channel": 1}


def is_divided(name):
    """Whether a sample of the row may be divided into short parts: an operation is short, and each
    part does the same."""
    return any(row.name == name for row in ROWS) and name not in (*HUNGRY, "sieve")


# The program's name of each limit, and its meaning.
LIMITS = (
    ("switch", "a switch that saves what the callee must preserve"),
    ("atomic_add", "an atomic add nobody else wants"),
    ("cache_line", "a cache line, one way from core to core"),
    ("line_beside", "a cache line before or after each sample of two cores, the longer time"),
    ("futex_two_cores", "a futex round trip between two cores that idle in between"),
    ("futex_one_core", "a futex round trip between two threads of one core"),
    ("page", "a page touched for the first time"),
    ("pages_one_core", "the same, the pages of 32 stacks in one call (MADV_POPULATE_WRITE)"),
    ("pages_two_cores", "the same, CPU time, when two cores do it at the same time"),
    ("far_stack", "seven lines of a stack that is in no cache, fetched eight stacks ahead"),
    ("guard", "a guard set below a stack (MADV_GUARD_INSTALL)"),
    ("clock", "a look at the clock"),
    ("late_sleeper", "how late a thread wakes at worst that sleeps 1 ms at a time for a second, "
                     "beside one that computes"),
    ("late_partner", "how late a thread runs at worst that another one wakes, which then computes "
                     "for 2 ms; a thousand times"),
)
