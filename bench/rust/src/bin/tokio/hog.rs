//! One task computes and never waits: how long do others wait for another core?
use bench::work::*;
use bench::*;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::spawn;
use tokio::time::sleep;

/// One computes for a second, and a hundred sleep a millisecond at a time: how late do they wake?
pub async fn hog(row: String) {
    let start = Instant::now();
    let end = start + Duration::from_millis(about_a_thousand() as u64);
    let mut sleepers = Vec::new();
    for _ in 0..100 {
        sleepers.push(spawn(async move {
            let (mut late, mut now) = (Vec::new(), start);
            while now < end {
                let due = now + Duration::from_millis(1);
                sleep(Duration::from_millis(1)).await;
                now = Instant::now();
                late.push(now.saturating_duration_since(due).as_nanos() as u64);
            }
            late
        }));
    }
    let hog = spawn(async move {
        while Instant::now() < end {
            check("hog", spend(1000), 0);
        }
    });
    let mut late = Vec::new();
    for sleeper in sleepers {
        late.append(&mut sleeper.await.unwrap());
    }
    hog.await.unwrap();
    sample(&row, "sleeps", late.len() as f64);
    sample(&row, "late median ns", percentile(&mut late, 50));
    sample(&row, "late worst ns", percentile(&mut late, 100));
}

/// A task sends to another, which waits, and computes for two milliseconds: how soon does another core begin the
/// receiver?
pub async fn join(row: String) {
    let turns = turns_in(2e6, turns_a_ns(&row));
    let mut times = Vec::new();
    for _ in 0..about_a_thousand() {
        let (here, is_here) = oneshot::channel();
        let (give, item) = oneshot::channel();
        let receiver = spawn(async move {
            here.send(1).unwrap();
            check("join", item.await.unwrap(), 1);
            Instant::now()
        });
        check("join", is_here.await.unwrap(), 1);
        // The other core has nothing to do, and has known it for a while.
        sleep(Duration::from_micros(200)).await;
        let ready = Instant::now();
        give.send(1).unwrap();
        check("join", spend(turns), 0);
        times.push((receiver.await.unwrap() - ready).as_nanos() as u64);
    }
    sample(&row, "pairs", times.len() as f64);
    sample(&row, "median ns", percentile(&mut times, 50));
    sample(&row, "worst ns", percentile(&mut times, 100));
}
