//! A task accepts requests and starts another for each. How many a second, when 64 clients ask, one request at a time
//! each; and how long short ones take, when they come at a pace.
use bench::work::*;
use bench::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn;
use tokio::time::sleep_until;

struct Request {
    item: i64,
    back: oneshot::Sender<i64>,
}

/// Each answer comes over a channel of tokio's smallest kind, which is for one item.
pub async fn serve_clients(kinds: Requests, n: i64) -> Duration {
    let (ask, mut asked) = mpsc::channel::<Request>(CLIENTS as usize);
    let start = Instant::now();
    spawn(async move {
        while let Some(r) = asked.recv().await {
            spawn(async move { r.back.send(r.item + spend(kinds.turns(r.item))).unwrap() });
        }
    });
    let mut clients = Vec::new();
    for c in 0..CLIENTS {
        let ask = ask.clone();
        clients.push(spawn(async move {
            let mut total = 0;
            for item in n / CLIENTS * c..n / CLIENTS * (c + 1) {
                let (back, answer) = oneshot::channel();
                ask.send(Request { item, back }).await.ok().unwrap();
                total += answer.await.unwrap();
            }
            total
        }));
    }
    let mut total = 0;
    for client in clients {
        total += client.await.unwrap();
    }
    let d = start.elapsed();
    check("work_server", total, sum(n));
    d
}

pub async fn serve_at_pace(row: String, kinds: Requests) {
    let all = Arc::new(kinds.arrivals());
    let mut served = Vec::with_capacity(all.len());
    let start = Instant::now();
    for i in 0..all.len() {
        if all[i].due > start.elapsed() {
            sleep_until((start + all[i].due).into()).await;
        }
        let all = all.clone();
        served.push(spawn(async move { all[i].serve(start) }));
    }
    for task in served {
        task.await.unwrap();
    }
    arrivals_end(&row, &all);
}
