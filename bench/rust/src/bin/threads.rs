//! Channels for OS threads: crossbeam, flume, std's. Usage: threads LIBRARY [ROW]
use bench::*;
use std::thread;
use std::time::{Duration, Instant};

macro_rules! channels {
    ($module:ident, $krate:ident) => {
        mod $module {
            use super::*;

            pub fn pingpong(n: i64) -> Duration {
                let (there, there_end) = $krate::bounded::<i64>(0);
                let (back, back_end) = $krate::bounded::<i64>(0);
                let echo = thread::spawn(move || {
                    while let Ok(v) = there_end.recv() {
                        back.send(v + 1).unwrap();
                    }
                });
                let mut v = 0;
                let start = Instant::now();
                for _ in 0..n {
                    there.send(v + 1).unwrap();
                    v = back_end.recv().unwrap();
                }
                let d = start.elapsed();
                drop(there);
                echo.join().unwrap();
                check("pingpong", v, 2 * n);
                d
            }

            pub fn stream(n: i64, pairs: i64) -> Duration {
                let (tx, rx) = $krate::bounded::<i64>(128);
                let start = Instant::now();
                let receivers: Vec<_> = (0..pairs)
                    .map(|_| {
                        let rx = rx.clone();
                        thread::spawn(move || {
                            let (mut total, mut count) = (0i64, 0i64);
                            while let Ok(v) = rx.recv() {
                                total += v;
                                count += 1;
                            }
                            (total, count)
                        })
                    })
                    .collect();
                drop(rx);
                for p in 0..pairs {
                    let tx = tx.clone();
                    thread::spawn(move || {
                        for i in n / pairs * p..n / pairs * (p + 1) {
                            tx.send(i).unwrap();
                        }
                    });
                }
                drop(tx);
                let (mut total, mut count) = (0, 0);
                for r in receivers {
                    let (t, c) = r.join().unwrap();
                    total += t;
                    count += c;
                }
                let d = start.elapsed();
                check("stream", count, n);
                check("stream", total, sum(n));
                d
            }
        }
    };
}
channels!(crossbeam, crossbeam_channel);
channels!(flume_, flume);

mod std_ {
    use super::*;
    use std::sync::mpsc::sync_channel;

    pub fn pingpong(n: i64) -> Duration {
        let (there, there_end) = sync_channel::<i64>(0);
        let (back, back_end) = sync_channel::<i64>(0);
        let echo = thread::spawn(move || {
            while let Ok(v) = there_end.recv() {
                back.send(v + 1).unwrap();
            }
        });
        let mut v = 0;
        let start = Instant::now();
        for _ in 0..n {
            there.send(v + 1).unwrap();
            v = back_end.recv().unwrap();
        }
        let d = start.elapsed();
        drop(there);
        echo.join().unwrap();
        check("pingpong", v, 2 * n);
        d
    }

    pub fn stream(n: i64) -> Duration {
        let (tx, rx) = sync_channel::<i64>(128);
        let start = Instant::now();
        let sender = thread::spawn(move || {
            for i in 0..n {
                tx.send(i).unwrap();
            }
        });
        let (mut total, mut count) = (0i64, 0i64);
        while let Ok(v) = rx.recv() {
            total += v;
            count += 1;
        }
        sender.join().unwrap();
        let d = start.elapsed();
        check("stream", count, n);
        check("stream", total, sum(n));
        d
    }
}

/// crossbeam's select; a thread waits and polls as well as a task does.
mod select {
    use super::*;
    use crossbeam_channel::{bounded, select};

    pub fn four(n: i64) -> Duration {
        let (txs, rxs): (Vec<_>, Vec<_>) = (0..4).map(|_| bounded::<i64>(0)).unzip();
        let start = Instant::now();
        for (p, tx) in txs.into_iter().enumerate() {
            thread::spawn(move || {
                let p = p as i64;
                for i in n / 4 * p..n / 4 * (p + 1) {
                    tx.send(i).unwrap();
                }
                // Its end must be silent, not a disconnection.
                std::mem::forget(tx);
            });
        }
        let mut total = 0;
        for _ in 0..n {
            select! {
                recv(rxs[0]) -> v => total += v.unwrap(),
                recv(rxs[1]) -> v => total += v.unwrap(),
                recv(rxs[2]) -> v => total += v.unwrap(),
                recv(rxs[3]) -> v => total += v.unwrap(),
            }
        }
        let d = start.elapsed();
        check("select_4", total, sum(n));
        d
    }

    pub fn poll_1(n: i64) -> Duration {
        let (_tx, rx) = bounded::<i64>(0);
        let start = Instant::now();
        let misses = (0..n).filter(|_| rx.try_recv().is_err()).count();
        let d = start.elapsed();
        check("poll_1", misses as i64, n);
        d
    }

    pub fn poll_4(n: i64) -> Duration {
        let (_txs, rxs): (Vec<_>, Vec<_>) = (0..4).map(|_| bounded::<i64>(0)).unzip();
        let (mut hits, mut misses) = (0, 0);
        let start = Instant::now();
        for _ in 0..n {
            select! {
                recv(rxs[0]) -> _ => hits += 1,
                recv(rxs[1]) -> _ => hits += 1,
                recv(rxs[2]) -> _ => hits += 1,
                recv(rxs[3]) -> _ => hits += 1,
                default => misses += 1,
            }
        }
        let d = start.elapsed();
        check("poll_4", misses - hits, n);
        d
    }
}

const CROSSBEAM: &[&str] = &[
    "thread_pingpong",
    "thread_buffered_1to1",
    "thread_buffered_4to4",
    "thread_select_4",
    "poll_1",
    "poll_4",
];
const FLUME: &[&str] = &["thread_pingpong", "thread_buffered_1to1", "thread_buffered_4to4"];
const STD: &[&str] = &["thread_pingpong", "thread_buffered_1to1"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let library = words.first().map(String::as_str).unwrap_or("");
    let rows = match library {
        "crossbeam" => CROSSBEAM,
        "flume" => FLUME,
        _ => STD,
    };
    list_or_run(&words[1..], rows, |row| match (library, row) {
        ("crossbeam", "thread_pingpong") => run(row, 1, crossbeam::pingpong),
        ("crossbeam", "thread_buffered_1to1") => run(row, 1, |n| crossbeam::stream(n, 1)),
        ("crossbeam", "thread_buffered_4to4") => run(row, 4, |n| crossbeam::stream(n, 4)),
        ("crossbeam", "thread_select_4") => run(row, 4, select::four),
        ("crossbeam", "poll_1") => run(row, 1, select::poll_1),
        ("crossbeam", "poll_4") => run(row, 1, select::poll_4),
        ("flume", "thread_pingpong") => run(row, 1, flume_::pingpong),
        ("flume", "thread_buffered_1to1") => run(row, 1, |n| flume_::stream(n, 1)),
        ("flume", "thread_buffered_4to4") => run(row, 4, |n| flume_::stream(n, 4)),
        ("std", "thread_pingpong") => run(row, 1, std_::pingpong),
        ("std", "thread_buffered_1to1") => run(row, 1, std_::stream),
        _ => std::process::exit(2),
    });
}
