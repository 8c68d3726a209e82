use crate::channels::receive_all;
use bench::*;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::channel;
use tokio::sync::oneshot;
use tokio::task::{spawn, yield_now};

pub async fn yields(n: i64) -> Duration {
    let yield_often = |times: i64| async move {
        let mut count = 0i64;
        for _ in 0..times {
            yield_now().await;
            count += 1;
        }
        count
    };
    let start = Instant::now();
    let (a, b) = (spawn(yield_often(n / 2)), spawn(yield_often(n / 2)));
    let count = a.await.unwrap() + b.await.unwrap();
    let d = start.elapsed();
    check("yield", count, n);
    d
}

pub async fn spawn_join(n: i64, together: i64) -> Duration {
    let ran = Arc::new(AtomicI64::new(0));
    let mut all = Vec::with_capacity(together as usize);
    let start = Instant::now();
    for _ in 0..n / together {
        for _ in 0..together {
            let ran = ran.clone();
            all.push(spawn(async move {
                ran.fetch_add(1, Relaxed);
            }));
        }
        for task in all.drain(..) {
            task.await.unwrap();
        }
    }
    let d = start.elapsed();
    check("spawn", ran.load(Relaxed), n);
    d
}

/// Two accept, on as many cores as there are, 64 requests at a time, of which each waits once, for its own item.
pub async fn server(n: i64, cores: i64) -> Duration {
    const ACCEPTORS: i64 = 2;
    const AT_A_TIME: usize = 64;
    let begun = Arc::new(AtomicI64::new(0));
    let accept = |begun: Arc<AtomicI64>, first: i64, last: i64| async move {
        begun.fetch_add(1, Relaxed);
        while begun.load(Relaxed) < ACCEPTORS.min(cores) {}
        let (got, mut i) = (Arc::new((AtomicI64::new(0), AtomicI64::new(0))), first);
        let mut served = Vec::with_capacity((last - first) as usize);
        while i < last {
            let mut items = Vec::with_capacity(AT_A_TIME);
            for _ in 0..AT_A_TIME {
                let (tx, rx) = oneshot::channel::<i64>();
                let got = got.clone();
                items.push(tx);
                served.push(spawn(async move {
                    got.0.fetch_add(rx.await.unwrap(), Relaxed);
                    got.1.fetch_add(1, Relaxed);
                }));
            }
            yield_now().await;
            for tx in items {
                tx.send(i).unwrap();
                i += 1;
            }
        }
        for task in served {
            task.await.unwrap();
        }
        (got.0.load(Relaxed), got.1.load(Relaxed))
    };
    let start = Instant::now();
    let (a, b) = (spawn(accept(begun.clone(), 0, n / 2)), spawn(accept(begun, n / 2, n)));
    let (a, b) = (a.await.unwrap(), b.await.unwrap());
    let d = start.elapsed();
    check("server", a.1 + b.1, n);
    check("server", a.0 + b.0, sum(n));
    d
}

/// The token counts down; a negative one goes round once and ends all.
pub async fn ring(n: i64) -> Duration {
    const MEMBERS: usize = 1000;
    let (txs, rxs): (Vec<_>, Vec<_>) = (0..MEMBERS).map(|_| channel::<i64>(1)).unzip();
    let first = txs[0].clone();
    let (done, mut done_end) = channel::<i64>(1);
    let mut all = Vec::new();
    for (i, mut rx) in rxs.into_iter().enumerate() {
        let out = txs[(i + 1) % MEMBERS].clone();
        let done = done.clone();
        all.push(spawn(async move {
            let mut hops = 0i64;
            loop {
                let token = rx.recv().await.unwrap();
                if token <= 0 {
                    if i != MEMBERS - 1 {
                        out.send(token).await.unwrap();
                    }
                    return hops;
                }
                hops += 1;
                if token == 1 {
                    done.send(1).await.unwrap();
                } else {
                    out.send(token - 1).await.unwrap();
                }
            }
        }));
    }
    let start = Instant::now();
    first.send(n).await.unwrap();
    done_end.recv().await.unwrap();
    let d = start.elapsed();
    first.send(-1).await.unwrap();
    let mut hops = 0;
    for task in all {
        hops += task.await.unwrap();
    }
    check("ring", hops, n);
    d
}

pub async fn sieve(row: String) {
    let start = Instant::now();
    let (tx, mut ch) = channel::<i64>(1);
    spawn(async move {
        let mut i = 2;
        while tx.send(i).await.is_ok() {
            i += 1;
        }
    });
    let mut prime = 0;
    for _ in 0..2000 {
        prime = ch.recv().await.unwrap();
        let (tx, rx) = channel::<i64>(1);
        let mut from = std::mem::replace(&mut ch, rx);
        spawn(async move {
            while let Some(v) = from.recv().await {
                if v % prime != 0 && tx.send(v).await.is_err() {
                    break;
                }
            }
        });
    }
    let d = start.elapsed();
    check("sieve", prime, 17389);
    sample(&row, "ms", d.as_secs_f64() * 1e3);
}

pub async fn pipeline(n: i64) -> Duration {
    let (tx, mut rx) = channel::<i64>(64);
    let start = Instant::now();
    spawn(async move {
        for i in 0..n {
            tx.send(i).await.unwrap();
        }
    });
    for _ in 0..3 {
        let (tx, next) = channel::<i64>(64);
        let mut from = std::mem::replace(&mut rx, next);
        spawn(async move {
            while let Some(v) = from.recv().await {
                tx.send(v + 1).await.unwrap();
            }
        });
    }
    let (count, total) = spawn(receive_all(rx)).await.unwrap();
    let d = start.elapsed();
    check("pipeline", count, n);
    check("pipeline", total, sum(n) + 3 * n);
    d
}
