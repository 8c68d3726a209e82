use bench::*;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::spawn;

async fn echo(mut from: Receiver<i64>, to: Sender<i64>) {
    while let Some(v) = from.recv().await {
        to.send(v + 1).await.unwrap();
    }
}

async fn send_all(to: Sender<i64>, first: i64, last: i64) {
    for i in first..last {
        to.send(i).await.unwrap();
    }
}

/// How many and their sum.
pub async fn receive_all(mut from: Receiver<i64>) -> (i64, i64) {
    let (mut count, mut total) = (0, 0);
    while let Some(v) = from.recv().await {
        count += 1;
        total += v;
    }
    (count, total)
}

pub async fn pingpong(n: i64) -> Duration {
    let (there, there_end) = channel(1);
    let (back, mut back_end) = channel(1);
    let echo = spawn(echo(there_end, back));
    let start = Instant::now();
    let mut v = 0;
    for _ in 0..n {
        there.send(v + 1).await.unwrap();
        v = back_end.recv().await.unwrap();
    }
    let d = start.elapsed();
    drop(there);
    echo.await.unwrap();
    check("pingpong", v, 2 * n);
    d
}

pub async fn stream(n: i64, capacity: usize) -> Duration {
    let (tx, rx) = channel(capacity);
    let start = Instant::now();
    spawn(send_all(tx, 0, n));
    let (count, total) = spawn(receive_all(rx)).await.unwrap();
    let d = start.elapsed();
    check("stream", count, n);
    check("stream", total, sum(n));
    d
}

pub async fn stream_shared(n: i64, capacity: usize) -> Duration {
    let (tx, rx) = channel::<i64>(capacity);
    let rx = Arc::new(Mutex::new(rx));
    let start = Instant::now();
    for p in 0..4 {
        spawn(send_all(tx.clone(), n / 4 * p, n / 4 * (p + 1)));
    }
    drop(tx);
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let rx = rx.clone();
            spawn(async move {
                let (mut count, mut total) = (0, 0);
                loop {
                    let item = rx.lock().await.recv().await;
                    match item {
                        Some(v) => {
                            count += 1;
                            total += v;
                        }
                        None => break (count, total),
                    }
                }
            })
        })
        .collect();
    let (mut count, mut total) = (0, 0);
    for r in receivers {
        let (c, t): (i64, i64) = r.await.unwrap();
        count += c;
        total += t;
    }
    let d = start.elapsed();
    check("stream", count, n);
    check("stream", total, sum(n));
    d
}

pub async fn select_4(n: i64) -> Duration {
    let (txs, mut rxs): (Vec<_>, Vec<_>) = (0..4).map(|_| channel::<i64>(1)).unzip();
    let start = Instant::now();
    for (p, tx) in txs.into_iter().enumerate() {
        spawn(async move {
            let p = p as i64;
            for i in n / 4 * p..n / 4 * (p + 1) {
                tx.send(i).await.unwrap();
            }
            tx.closed().await; // its end must be silent
        });
    }
    let selecting = spawn(async move {
        let (mut d, mut c) = (rxs.pop().unwrap(), rxs.pop().unwrap());
        let (mut b, mut a) = (rxs.pop().unwrap(), rxs.pop().unwrap());
        let mut total = 0;
        for _ in 0..n {
            tokio::select! {
                v = a.recv() => total += v.unwrap(),
                v = b.recv() => total += v.unwrap(),
                v = c.recv() => total += v.unwrap(),
                v = d.recv() => total += v.unwrap(),
            }
        }
        total
    });
    let total = selecting.await.unwrap();
    let d = start.elapsed();
    check("select_4", total, sum(n));
    d
}

pub async fn poll_1(n: i64) -> Duration {
    let (_tx, mut rx) = channel::<i64>(1);
    let start = Instant::now();
    let misses = (0..n).filter(|_| rx.try_recv().is_err()).count();
    let d = start.elapsed();
    check("poll_1", misses as i64, n);
    d
}

pub async fn poll_4(n: i64) -> Duration {
    let (_txs, mut rxs): (Vec<_>, Vec<_>) = (0..4).map(|_| channel::<i64>(1)).unzip();
    let (mut d, mut c) = (rxs.pop().unwrap(), rxs.pop().unwrap());
    let (mut b, mut a) = (rxs.pop().unwrap(), rxs.pop().unwrap());
    let (mut hits, mut misses) = (0, 0);
    let start = Instant::now();
    for _ in 0..n {
        tokio::select! {
            biased;
            _ = a.recv() => hits += 1,
            _ = b.recv() => hits += 1,
            _ = c.recv() => hits += 1,
            _ = d.recv() => hits += 1,
            _ = std::future::ready(()) => misses += 1,
        }
    }
    let d = start.elapsed();
    check("poll_4", misses - hits, n);
    d
}

pub fn thread_to_task(r: &Runtime, n: i64) -> Duration {
    let (tx, rx) = channel(128);
    let start = Instant::now();
    let receiver = r.spawn(receive_all(rx));
    let sender = thread::spawn(move || {
        for i in 0..n {
            tx.blocking_send(i).unwrap();
        }
    });
    sender.join().unwrap();
    let (count, total) = r.block_on(receiver).unwrap();
    let d = start.elapsed();
    check("thread_to_task", count, n);
    check("thread_to_task", total, sum(n));
    d
}

pub fn task_to_thread(r: &Runtime, n: i64) -> Duration {
    let (tx, mut rx) = channel(128);
    let start = Instant::now();
    r.spawn(send_all(tx, 0, n));
    let receiver = thread::spawn(move || {
        let (mut count, mut total) = (0, 0);
        while let Some(v) = rx.blocking_recv() {
            count += 1;
            total += v;
        }
        (count, total)
    });
    let (count, total) = receiver.join().unwrap();
    let d = start.elapsed();
    check("task_to_thread", count, n);
    check("task_to_thread", total, sum(n));
    d
}

pub fn thread_task_pingpong(r: &Runtime, n: i64) -> Duration {
    let (there, there_end) = channel(1);
    let (back, mut back_end) = channel(1);
    r.spawn(echo(there_end, back));
    let start = Instant::now();
    let mut v = 0;
    for _ in 0..n {
        there.blocking_send(v + 1).unwrap();
        v = back_end.blocking_recv().unwrap();
    }
    let d = start.elapsed();
    check("thread_task_pingpong", v, 2 * n);
    d
}
