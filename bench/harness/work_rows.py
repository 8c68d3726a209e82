"""The rows whose items compute: what is measured, and what leat has promised for each."""

from rows import Row

SIZES = (1, 5, 20, 100, 1000)  # µs an item
SHAPES = {
    "work_fan": "fan of 8",
    "work_crowd": "crowd of 64, in rounds",
    "work_chain": "chain of 3 stages",
    "work_ordered": "ordered map, 8 at once",
    "work_server": "server, one request in ten long",
}
WAYS = {"work_crowd": ("blocks",)}
EIGHT = "leat (8 workers)"
LOOPS = (1, 10, 100)  # ms a loop, on one core

WORK_ROWS = (
    *(Row(f"{shape}_{us}us", f"{title}, {us:,} µs", ways=WAYS.get(shape, ()))
      for shape, title in SHAPES.items() for us in SIZES),
    Row("hog", "sleepers beside one that computes"),
    Row("join", "another core begins", cores=(2,)),
    *(Row(f"parallel_for_{ms}ms", f"parallel for, {ms} ms", ways=("singly",)) for ms in LOOPS),
)

# The least speed-up from one core to two, by the size of the items in µs.
SPEED_UPS = {20: 1.75, 100: 1.9, 1000: 1.9}
# The least speed of eight workers on two cores, as a part of the speed of two workers.
EIGHT_SPEED = 0.9
HOG_WORST_MS = 2
JOIN_MEDIAN_US, JOIN_WORST_US = 150, 1000
OPENMP = 1.05
