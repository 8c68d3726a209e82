//! A task for each connection. `ct`: one thread; else CORES threads.
use std::env;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

async fn serve(mut connection: TcpStream, sink: bool) {
    let mut buffer = vec![0u8; if sink { 64 * 1024 } else { 1024 }];
    loop {
        let n = match connection.read(&mut buffer).await {
            Ok(n) if n > 0 => n,
            _ => return,
        };
        if !sink && connection.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

async fn accept(port: u16, sink: bool) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    loop {
        let (connection, _) = listener.accept().await.unwrap();
        let _ = connection.set_nodelay(true);
        tokio::spawn(serve(connection, sink));
    }
}

fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let (port, sink) = (number("PORT", 7000) as u16, number("SINK", 0) == 1);
    if env::args().nth(1).as_deref() == Some("ct") {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(accept(port, sink));
    } else {
        let threads = number("CORES", 1);
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(threads).enable_io().build().unwrap();
        runtime.block_on(runtime.spawn(accept(port, sink))).unwrap();
    }
}
