use bench::*;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::{spawn, yield_now, JoinHandle};

static READY: AtomicI64 = AtomicI64::new(0);
static SUM: AtomicI64 = AtomicI64::new(0);

type Crowd = Vec<(oneshot::Sender<i64>, JoinHandle<()>)>;

/// Each waits for its own channel, of tokio's smallest kind: it has none for several receivers.
async fn gather(n: i64) -> Crowd {
    let mut all = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (tx, rx) = oneshot::channel::<i64>();
        let task = spawn(async move {
            READY.fetch_add(1, Relaxed);
            SUM.fetch_add(rx.await.unwrap(), Relaxed);
        });
        all.push((tx, task));
    }
    while READY.load(Relaxed) < n {
        yield_now().await;
    }
    all
}

pub async fn parked(row: String) {
    let n = crowd(1_000_000);
    let (resident, tables) = (status("VmRSS"), status("VmPTE"));
    let start = Instant::now();
    let all = gather(n).await;
    let made = start.elapsed();
    let (resident, tables) = (status("VmRSS") - resident, status("VmPTE") - tables);
    let again = Instant::now();
    let mut tasks = Vec::with_capacity(n as usize);
    for (i, (tx, task)) in all.into_iter().enumerate() {
        tx.send(i as i64).unwrap();
        tasks.push(task);
    }
    for task in tasks {
        task.await.unwrap();
    }
    let woken = again.elapsed();
    check(&row, SUM.load(Relaxed), sum(n));
    sample(&row, "bytes", resident / n as f64);
    sample(&row, "page table bytes", tables / n as f64);
    sample(&row, "create ns", each(made, n));
    sample(&row, "wake ns", each(woken, n));
}

pub async fn sleepers(row: String) {
    let n = crowd(1_000_000);
    let mut random = Random(1);
    let (before, start) = (cpu_ns(), Instant::now());
    let mut all = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let ms = 1 + random.next() % 1000;
        all.push(spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            READY.fetch_add(1, Relaxed);
        }));
    }
    for task in all {
        task.await.unwrap();
    }
    let (wall, cpu) = (start.elapsed(), cpu_ns() - before);
    check(&row, READY.load(Relaxed), n);
    sample(&row, "CPU ns", cpu as f64 / n as f64);
    sample(&row, "wall ms", wall.as_secs_f64() * 1e3);
}

pub async fn cancel(row: String) {
    let n = crowd(1_000_000) / 10;
    let all = gather(n).await;
    let start = Instant::now();
    for (_, task) in &all {
        task.abort();
    }
    let (txs, tasks): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let mut cancelled = 0;
    for task in tasks {
        cancelled += task.await.unwrap_err().is_cancelled() as i64;
    }
    let d = start.elapsed();
    drop(txs);
    check(&row, cancelled, n);
    sample(&row, "ns/op", each(d, n));
}
