use bench::*;
use flume::{bounded, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::spawn;

async fn echo(from: Receiver<i64>, to: Sender<i64>) {
    while let Ok(v) = from.recv_async().await {
        to.send_async(v + 1).await.unwrap();
    }
}

pub async fn send_all(to: Sender<i64>, first: i64, last: i64) {
    for i in first..last {
        to.send_async(i).await.unwrap();
    }
}

/// How many and their sum.
pub async fn receive_all(from: Receiver<i64>) -> (i64, i64) {
    let (mut count, mut total) = (0, 0);
    while let Ok(v) = from.recv_async().await {
        count += 1;
        total += v;
    }
    (count, total)
}

pub async fn pingpong(n: i64) -> Duration {
    let (there, there_end) = bounded(0);
    let (back, back_end) = bounded(0);
    let echo = spawn(echo(there_end, back));
    let start = Instant::now();
    let mut v = 0;
    for _ in 0..n {
        there.send_async(v + 1).await.unwrap();
        v = back_end.recv_async().await.unwrap();
    }
    let d = start.elapsed();
    drop(there);
    echo.await.unwrap();
    check("pingpong", v, 2 * n);
    d
}

pub async fn stream(n: i64, capacity: usize, pairs: i64) -> Duration {
    let (tx, rx) = bounded(capacity);
    let start = Instant::now();
    for p in 0..pairs {
        spawn(send_all(tx.clone(), n / pairs * p, n / pairs * (p + 1)));
    }
    drop(tx);
    let receivers: Vec<_> = (0..pairs).map(|_| spawn(receive_all(rx.clone()))).collect();
    drop(rx);
    let (mut count, mut total) = (0, 0);
    for r in receivers {
        let (c, t) = r.await.unwrap();
        count += c;
        total += t;
    }
    let d = start.elapsed();
    check("stream", count, n);
    check("stream", total, sum(n));
    d
}

pub fn thread_to_task(r: &Runtime, n: i64) -> Duration {
    let (tx, rx) = bounded(128);
    let start = Instant::now();
    let receiver = r.spawn(receive_all(rx));
    let sender = thread::spawn(move || {
        for i in 0..n {
            tx.send(i).unwrap();
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
    let (tx, rx) = bounded(128);
    let start = Instant::now();
    r.spawn(send_all(tx, 0, n));
    let receiver = thread::spawn(move || {
        let (mut count, mut total) = (0, 0);
        while let Ok(v) = rx.recv() {
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
    let (there, there_end) = bounded(0);
    let (back, back_end) = bounded(0);
    r.spawn(echo(there_end, back));
    let start = Instant::now();
    let mut v = 0;
    for _ in 0..n {
        there.send(v + 1).unwrap();
        v = back_end.recv().unwrap();
    }
    let d = start.elapsed();
    check("thread_task_pingpong", v, 2 * n);
    d
}
