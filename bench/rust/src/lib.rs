//! Timing, calibration and reporting: the same environment and output as ../common/bench.h.
use std::time::Duration;

pub mod work;

pub fn env(name: &str, otherwise: i64) -> i64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

pub fn crowd(n: i64) -> i64 {
    env("BENCH_CROWD", n)
}

pub fn sample(row: &str, metric: &str, value: f64) {
    println!("SAMPLE\t{row}\t{metric}\t{value:.4}");
}

pub fn check(what: &str, got: i64, want: i64) {
    if got != want {
        eprintln!("{what}: got {got} instead of {want}");
        std::process::exit(3);
    }
}

/// 0 + 1 + … + n-1
pub fn sum(n: i64) -> i64 {
    n * (n - 1) / 2
}

/// Nanoseconds for each of n.
pub fn each(d: Duration, n: i64) -> f64 {
    d.as_nanos() as f64 / n as f64
}

fn up(n: f64, multiple: i64) -> i64 {
    (n as i64 + multiple - 1) / multiple * multiple
}

fn calibrate(multiple: i64, f: &mut impl FnMut(i64) -> Duration) -> i64 {
    let enough = env("BENCH_MIN_MS", 150) as f64 * 1e6;
    let mut n = up(1000.0, multiple);
    loop {
        let ns = f(n).as_nanos() as f64;
        if ns >= enough / 4.0 {
            return up(n as f64 * 1.2 * enough / ns, multiple);
        }
        let factor = if ns > 1e6 { 1.25 * enough / 4.0 / ns } else { 20.0 };
        n = up(n as f64 * factor.clamp(1.1, 20.0), multiple);
    }
}

pub fn run(row: &str, multiple: i64, mut f: impl FnMut(i64) -> Duration) {
    let mut n = up(env("BENCH_OPS", 0) as f64, multiple);
    if n == 0 {
        n = calibrate(multiple, &mut f);
    }
    for _ in 0..env("BENCH_REPEATS", 1) {
        sample(row, "ns/op", each(f(n), n));
    }
}

/// A field of /proc/self/status that is in kB, in bytes.
pub fn status(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(field)?.strip_prefix(':'));
    line.map_or(0.0, |l| l.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1024.0)
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// CPU time of this process in ns.
pub fn cpu_ns() -> i64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, ns: 0 };
    check("cpu", unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) } as i64, 0);
    time.seconds * 1_000_000_000 + time.ns
}

/// splitmix64
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
}

/// What each row is called, and the function that runs it; `main` of both programs.
pub fn list_or_run(words: &[String], rows: &[&str], run_row: impl Fn(&str)) {
    match words.first() {
        None => println!("{}", rows.join("\n")),
        Some(row) if rows.contains(&row.as_str()) => run_row(row),
        Some(row) => {
            eprintln!("no such row: {row}");
            std::process::exit(2);
        }
    }
}
