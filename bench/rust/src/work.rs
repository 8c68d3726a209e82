//! Items that compute for a while, and a server's requests: as ../common/work.h and requests.h have them.
use crate::*;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Of the row that runs.
static TURNS_AN_ITEM: AtomicI64 = AtomicI64::new(0);

fn step(x: u64) -> u64 {
    x.wrapping_mul(6364136223846793005) ^ (x >> 32)
}

fn turns(n: i64) -> u64 {
    let mut x = 1u64;
    for _ in 0..n {
        x = step(step(step(step(x))));
    }
    x
}

/// Does n turns. Nobody knows that it is always 0.
pub fn spend(n: i64) -> i64 {
    (turns(n) == 0) as i64
}

/// Does an item's work.
pub fn compute() -> i64 {
    spend(TURNS_AN_ITEM.load(Relaxed))
}

/// The best of 200: what disturbed the others is no part of the loop.
pub fn turns_a_ns(row: &str) -> f64 {
    const OFTEN: i64 = 25_000;
    let times = (0..200).map(|_| {
        let start = Instant::now();
        check(row, spend(OFTEN), 0);
        start.elapsed().as_nanos()
    });
    let best = times.min().unwrap() as f64;
    sample(row, "turns/us", 1e3 * OFTEN as f64 / best);
    OFTEN as f64 / best
}

/// How many turns last so long, at least one.
pub fn turns_in(ns: f64, turns_a_ns: f64) -> i64 {
    (ns * turns_a_ns).max(1.0) as i64
}

/// The microseconds of an item's work stand in the row's name: work_fan_20us.
fn item_ns(row: &str) -> f64 {
    let size = row.rsplit('_').next().unwrap();
    1e3 * size.trim_end_matches("us").parse::<f64>().unwrap()
}

/// So many that they keep one core busy for 4/3 of the time that a sample has to last, but at least 160.
fn items(ns_an_item: f64, multiple: i64) -> i64 {
    let n = match env("BENCH_OPS", 0) {
        0 => (4e6 / 3.0 * env("BENCH_MIN_MS", 150) as f64 / ns_an_item).max(160.0),
        n => n as f64,
    };
    up(n, multiple)
}

/// For rows that no item counts: a thousand, and fewer where a sample need not last as long as it does by itself.
pub fn about_a_thousand() -> i64 {
    env("BENCH_OPS", env("BENCH_MIN_MS", 150) * 20 / 3)
}

/// A sample of n items, with what they cost in CPU time, after a tenth of them to warm up.
fn run_items(row: &str, n: i64, multiple: i64, shape: impl Fn(i64) -> Duration) {
    shape(up(n as f64 / 10.0, multiple));
    for _ in 0..env("BENCH_REPEATS", 1) {
        let before = cpu_ns();
        let d = shape(n);
        let cpu = cpu_ns() - before;
        sample(row, "ns/op", each(d, n));
        sample(row, "CPU ns", cpu as f64 / n as f64);
    }
}

/// A shape in which every item is worked on `times` times.
pub fn work(row: &str, times: i64, multiple: i64, shape: impl Fn(i64) -> Duration) {
    let ns = item_ns(row);
    TURNS_AN_ITEM.store(turns_in(ns, turns_a_ns(row)), Relaxed);
    run_items(row, items(ns * times as f64, multiple), multiple, shape);
}

/// Sorts the times, and returns the one that `percent` of them are below.
pub fn percentile(times: &mut [u64], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)] as f64
}

pub const CLIENTS: i64 = 64;
const ONE_IN: i64 = 10;

/// One request in ten is long.
#[derive(Clone, Copy)]
pub struct Requests {
    long_turns: i64,
    short_turns: i64,
    mean_ns: f64,
}

impl Requests {
    pub fn of(row: &str) -> Self {
        const SHORT_NS: f64 = 1e3;
        let (ns, a_ns) = (item_ns(row), turns_a_ns(row));
        Requests {
            long_turns: turns_in(ns, a_ns),
            short_turns: turns_in(SHORT_NS, a_ns),
            mean_ns: (ns + (ONE_IN - 1) as f64 * SHORT_NS) / ONE_IN as f64,
        }
    }

    pub fn turns(&self, i: i64) -> i64 {
        if i % ONE_IN == 0 {
            self.long_turns
        } else {
            self.short_turns
        }
    }

    pub fn run(&self, row: &str, serve: impl Fn(i64) -> Duration) {
        let multiple = CLIENTS * ONE_IN;
        run_items(row, items(self.mean_ns, multiple), multiple, serve);
    }

    /// Those that come at a pace: each millisecond as many as need half of it on all cores.
    pub fn arrivals(&self) -> Vec<Arrival> {
        let bursts = env("BENCH_MIN_MS", 150);
        let rate = 0.5 * env("BENCH_CORES", 1) as f64 * 1e6 / self.mean_ns;
        let n = up(env("BENCH_OPS", (rate * bursts as f64) as i64) as f64, ONE_IN);
        let arrival = |i| Arrival {
            turns: self.turns(i),
            long: i % ONE_IN == 0,
            due: Duration::from_millis((i * bursts / n) as u64),
            took: AtomicU64::new(0),
            served: AtomicI64::new(0),
        };
        (0..n).map(arrival).collect()
    }
}

pub struct Arrival {
    pub due: Duration,
    turns: i64,
    long: bool,
    took: AtomicU64,
    served: AtomicI64,
}

impl Arrival {
    pub fn serve(&self, start: Instant) {
        self.served.fetch_add(1 + spend(self.turns), Relaxed);
        self.took.store((start.elapsed() - self.due).as_nanos() as u64, Relaxed);
    }
}

/// How long the short ones took, from when they were due.
pub fn arrivals_end(row: &str, all: &[Arrival]) {
    let once = all.iter().filter(|a| a.served.load(Relaxed) == 1).count();
    check(row, once as i64, all.len() as i64);
    let short = all.iter().filter(|a| !a.long);
    let mut times: Vec<u64> = short.map(|a| a.took.load(Relaxed)).collect();
    sample(row, "short p99 ns", percentile(&mut times, 99));
}
