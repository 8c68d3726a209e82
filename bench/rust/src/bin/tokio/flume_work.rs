//! Items that compute for a while, over flume's channels.
use crate::flumes::{receive_all, send_all};
use bench::work::compute;
use bench::*;
use flume::{bounded, Receiver, Sender};
use std::time::{Duration, Instant};
use tokio::task::spawn;

async fn pass(from: Receiver<i64>, to: Sender<i64>) {
    while let Ok(v) = from.recv_async().await {
        to.send_async(v + compute()).await.unwrap();
    }
}

async fn collect(what: &str, from: Receiver<i64>, n: i64) {
    let (count, total) = receive_all(from).await;
    check(what, count, n);
    check(what, total, sum(n));
}

pub async fn fan(n: i64) -> Duration {
    let (tx, rx) = bounded(0);
    let (out, results) = bounded(0);
    let start = Instant::now();
    spawn(send_all(tx, 0, n));
    for _ in 0..8 {
        spawn(pass(rx.clone(), out.clone()));
    }
    drop((rx, out));
    collect("work_fan", results, n).await;
    start.elapsed()
}

pub async fn crowd(n: i64) -> Duration {
    const MEMBERS: usize = 64;
    let (out, results) = bounded(MEMBERS);
    let members: Vec<_> = (0..MEMBERS)
        .map(|_| {
            let (tx, rx) = bounded(1);
            spawn(pass(rx, out.clone()));
            tx
        })
        .collect();
    let (mut item, mut total) = (0, 0);
    let start = Instant::now();
    while item < n {
        for tx in &members {
            tx.send_async(item).await.unwrap();
            item += 1;
        }
        for _ in 0..MEMBERS {
            total += results.recv_async().await.unwrap();
        }
    }
    let d = start.elapsed();
    check("work_crowd", total, sum(n));
    d
}

pub async fn chain(n: i64) -> Duration {
    let (tx, mut rx) = bounded(16);
    let start = Instant::now();
    spawn(send_all(tx, 0, n));
    for _ in 0..3 {
        let (tx, next) = bounded(16);
        spawn(pass(std::mem::replace(&mut rx, next), tx));
    }
    collect("work_chain", rx, n).await;
    start.elapsed()
}
