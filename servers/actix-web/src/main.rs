//! The contract's workloads with actix-web.

mod body;
mod routes;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::KeepAlive;
use actix_web::rt::System;
use actix_web::{App, HttpServer, web};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use workloads::blog::Posts;
use workloads::database::Database;
use workloads::options::{Options, USAGE};
use workloads::tls;

use crate::routes::Shared;

const BACKLOG: u32 = 4096;
/// Requests under way get so long after SIGTERM, then every connection is closed.
const GRACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match System::new().block_on(run(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    // They live as long as the process.
    let posts: &'static Posts = Box::leak(Box::new(Posts::read("/contract/posts.json")?));
    let Options { threads, backend_port, pool, .. } = options;
    let workers = Arc::new(AtomicUsize::new(0));
    let terminate = signal(SignalKind::terminate())?;
    let interrupt = signal(SignalKind::interrupt())?;
    // Called once by each worker. Each has a part of the pool: its connections and their requests share a thread.
    let server = HttpServer::new(move || {
        let worker = workers.fetch_add(1, Ordering::Relaxed);
        let connections = pool / threads + usize::from(worker % threads < pool % threads);
        let shared = Shared { posts, database: Database::at(backend_port, connections.max(1)) };
        App::new().app_data(web::Data::new(shared)).configure(routes::configure)
    })
    .workers(threads)
    .backlog(BACKLOG)
    // As the other servers, which have no limit of time for a silent client.
    .keep_alive(KeepAlive::Os)
    .client_request_timeout(Duration::ZERO)
    .disable_signals()
    .bind(options.address())?;
    let server = match options.tls_address() {
        Some(address) => server.bind_rustls_0_23(address, tls::settings()?)?,
        None => server,
    }
    .run();
    actix_web::rt::spawn(stop_at_signal(server.handle(), terminate, interrupt));
    Ok(server.await?)
}

async fn stop_at_signal(server: ServerHandle, mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    if timeout(GRACE, server.stop(true)).await.is_err() {
        std::process::exit(0);
    }
}
