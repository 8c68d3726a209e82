//! Items that compute for a while.
use crate::channels::receive_all;
use bench::work::compute;
use bench::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::spawn;

async fn feed(to: Sender<i64>, n: i64) {
    for i in 0..n {
        to.send(i).await.unwrap();
    }
}

async fn pass(mut from: Receiver<i64>, to: Sender<i64>) {
    while let Some(v) = from.recv().await {
        to.send(v + compute()).await.unwrap();
    }
}

async fn collect(what: &str, from: Receiver<i64>, n: i64) {
    let (count, total) = receive_all(from).await;
    check(what, count, n);
    check(what, total, sum(n));
}

/// One feeds, eight work, and the caller collects; channels have room for one.
pub async fn fan(n: i64) -> Duration {
    let (tx, rx) = channel::<i64>(1);
    let (out, results) = channel::<i64>(1);
    let rx = Arc::new(Mutex::new(rx));
    let start = Instant::now();
    spawn(feed(tx, n));
    for _ in 0..8 {
        let (rx, out) = (rx.clone(), out.clone());
        spawn(async move {
            loop {
                let item = rx.lock().await.recv().await;
                match item {
                    Some(v) => out.send(v + compute()).await.unwrap(),
                    None => break,
                }
            }
        });
    }
    drop(out);
    collect("work_fan", results, n).await;
    start.elapsed()
}

/// 64 that live long, each with its own channel, are given an item each in turn, and then all results are awaited.
pub async fn crowd(n: i64) -> Duration {
    const MEMBERS: usize = 64;
    let (out, mut results) = channel::<i64>(MEMBERS);
    let members: Vec<_> = (0..MEMBERS)
        .map(|_| {
            let (tx, rx) = channel::<i64>(1);
            spawn(pass(rx, out.clone()));
            tx
        })
        .collect();
    let (mut item, mut total) = (0, 0);
    let start = Instant::now();
    while item < n {
        for tx in &members {
            tx.send(item).await.unwrap();
            item += 1;
        }
        for _ in 0..MEMBERS {
            total += results.recv().await.unwrap();
        }
    }
    let d = start.elapsed();
    check("work_crowd", total, sum(n));
    d
}

pub async fn chain(n: i64) -> Duration {
    let (tx, mut rx) = channel::<i64>(16);
    let start = Instant::now();
    spawn(feed(tx, n));
    for _ in 0..3 {
        let (tx, next) = channel::<i64>(16);
        spawn(pass(std::mem::replace(&mut rx, next), tx));
    }
    collect("work_chain", rx, n).await;
    start.elapsed()
}

/// Eight at a time, a task for each item, results in order.
pub async fn ordered(n: i64) -> Duration {
    let (slots, mut results) = channel(8);
    let start = Instant::now();
    spawn(async move {
        for i in 0..n {
            let slot = slots.reserve().await.unwrap();
            slot.send(spawn(async move { i + compute() }));
        }
    });
    let mut count = 0;
    while let Some(task) = results.recv().await {
        check("work_ordered", task.await.unwrap(), count);
        count += 1;
    }
    let d = start.elapsed();
    check("work_ordered", count, n);
    d
}
