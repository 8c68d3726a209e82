//! tokio's tasks and channels, and flume's channels on tokio. Usage: tokio one|many [ROW]: the runtime
//! that has one thread, or the one that has BENCH_CORES of them.
//!
//! tokio's mpsc has no capacity 0: where others are unbuffered it has room for one. It has one receiver:
//! where there are several they share it behind tokio's Mutex. flume's rows, flume_…, need neither.
mod channels;
mod crowds;
mod flume_work;
mod flumes;
mod hog;
mod tasks;
mod work;
mod work_server;

use bench::work::{work, Requests};
use bench::*;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::spawn;

const ROWS: &[&str] = &[
    "yield",
    "pingpong",
    "unbuffered_1to1",
    "unbuffered_4to4",
    "buffered_1to1",
    "buffered_4to4",
    "select_4",
    "poll_1",
    "poll_4",
    "spawn_1",
    "spawn_1000",
    "server",
    "parked",
    "ring",
    "sieve",
    "sleepers",
    "pipeline",
    "cancel",
    "hog",
    "join",
    "thread_to_task",
    "task_to_thread",
    "thread_task_pingpong",
    "flume_pingpong",
    "flume_unbuffered_1to1",
    "flume_unbuffered_4to4",
    "flume_buffered_1to1",
    "flume_buffered_4to4",
    "flume_thread_to_task",
    "flume_task_to_thread",
    "flume_thread_task_pingpong",
];

/// Rows whose items compute: each of them for each size.
const SHAPES: &[&str] = &[
    "work_fan",
    "work_crowd",
    "work_chain",
    "work_ordered",
    "work_server",
    "flume_work_fan",
    "flume_work_crowd",
    "flume_work_chain",
];
const SIZES: &[&str] = &["1us", "5us", "20us", "100us", "1000us"];

/// Inside a worker, not on the thread that waits for it.
fn on<T: Send + 'static>(runtime: &Runtime, f: impl Future<Output = T> + Send + 'static) -> T {
    runtime.block_on(async move { spawn(f).await.unwrap() })
}

fn run_row(r: &Runtime, cores: i64, row: &str) {
    let go = |multiple: i64, f: &dyn Fn(i64) -> Duration| run(row, multiple, f);
    let name = row.to_string();
    match row {
        "yield" => go(2, &|n| on(r, tasks::yields(n))),
        "pingpong" => go(1, &|n| on(r, channels::pingpong(n))),
        "unbuffered_1to1" => go(1, &|n| on(r, channels::stream(n, 1))),
        "unbuffered_4to4" => go(4, &|n| on(r, channels::stream_shared(n, 1))),
        "buffered_1to1" => go(1, &|n| on(r, channels::stream(n, 128))),
        "buffered_4to4" => go(4, &|n| on(r, channels::stream_shared(n, 128))),
        "select_4" => go(4, &|n| on(r, channels::select_4(n))),
        "poll_1" => go(1, &|n| on(r, channels::poll_1(n))),
        "poll_4" => go(1, &|n| on(r, channels::poll_4(n))),
        "spawn_1" => go(1, &|n| on(r, tasks::spawn_join(n, 1))),
        "spawn_1000" => go(1000, &|n| on(r, tasks::spawn_join(n, 1000))),
        "server" => go(128, &|n| on(r, tasks::server(n, cores))),
        "parked" => on(r, crowds::parked(name)),
        "ring" => go(1, &|n| on(r, tasks::ring(n))),
        "sieve" => on(r, tasks::sieve(name)),
        "sleepers" => on(r, crowds::sleepers(name)),
        "pipeline" => go(1, &|n| on(r, tasks::pipeline(n))),
        "cancel" => on(r, crowds::cancel(name)),
        "thread_to_task" => go(1, &|n| channels::thread_to_task(r, n)),
        "task_to_thread" => go(1, &|n| channels::task_to_thread(r, n)),
        "thread_task_pingpong" => go(1, &|n| channels::thread_task_pingpong(r, n)),
        "flume_pingpong" => go(1, &|n| on(r, flumes::pingpong(n))),
        "flume_unbuffered_1to1" => go(1, &|n| on(r, flumes::stream(n, 0, 1))),
        "flume_unbuffered_4to4" => go(4, &|n| on(r, flumes::stream(n, 0, 4))),
        "flume_buffered_1to1" => go(1, &|n| on(r, flumes::stream(n, 128, 1))),
        "flume_buffered_4to4" => go(4, &|n| on(r, flumes::stream(n, 128, 4))),
        "flume_thread_to_task" => go(1, &|n| flumes::thread_to_task(r, n)),
        "flume_task_to_thread" => go(1, &|n| flumes::task_to_thread(r, n)),
        "flume_thread_task_pingpong" => go(1, &|n| flumes::thread_task_pingpong(r, n)),
        "hog" => on(r, hog::hog(name)),
        "join" => on(r, hog::join(name)),
        _ => run_work(r, row),
    }
}

fn run_work(r: &Runtime, row: &str) {
    let shape = row.rsplit_once('_').unwrap().0;
    match shape {
        "work_fan" => work(row, 1, 1, |n| on(r, work::fan(n))),
        "work_crowd" => work(row, 1, 64, |n| on(r, work::crowd(n))),
        "work_chain" => work(row, 3, 1, |n| on(r, work::chain(n))),
        "work_ordered" => work(row, 1, 1, |n| on(r, work::ordered(n))),
        "work_server" => {
            let kinds = Requests::of(row);
            kinds.run(row, |n| on(r, work_server::serve_clients(kinds, n)));
            on(r, work_server::serve_at_pace(row.to_string(), kinds));
        }
        "flume_work_fan" => work(row, 1, 1, |n| on(r, flume_work::fan(n))),
        "flume_work_crowd" => work(row, 1, 64, |n| on(r, flume_work::crowd(n))),
        "flume_work_chain" => work(row, 3, 1, |n| on(r, flume_work::chain(n))),
        _ => std::process::exit(2),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let one = words.first().map_or(false, |word| word == "one");
    // Threads run beside a runtime of one thread only while that waits for them: it cannot. And where the work
    // is long enough, nothing is gained by having only one.
    let not_of_one = ["thread", "flume_", "work_", "hog", "join"];
    let fit = |row: &&String| !one || !not_of_one.iter().any(|part| row.contains(part));
    let sizes = |shape: &&str| SIZES.iter().map(|size| format!("{shape}_{size}")).collect::<Vec<_>>();
    let all: Vec<String> =
        ROWS.iter().map(|row| row.to_string()).chain(SHAPES.iter().flat_map(sizes)).collect();
    let rows: Vec<&str> = all.iter().filter(fit).map(String::as_str).collect();
    let cores = if one { 1 } else { env("BENCH_CORES", 1) };
    let runtime = if one {
        Builder::new_current_thread().enable_time().build()
    } else {
        Builder::new_multi_thread().worker_threads(cores as usize).enable_time().build()
    };
    let runtime = runtime.unwrap();
    list_or_run(&words[1..], &rows, |row| run_row(&runtime, cores, row));
}
