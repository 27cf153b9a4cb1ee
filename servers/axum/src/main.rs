//! The contract's workloads with axum on hyper and tokio.

mod body;
mod routes;

use std::error::Error;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use workloads::blog::Posts;
use workloads::database::Database;
use workloads::options::{Options, USAGE};
use workloads::tls;

const BACKLOG: u32 = 4096;
/// Requests under way get so long after SIGTERM, then every connection is closed.
const GRACE: Duration = Duration::from_millis(500);
/// Without a free descriptor accept fails at once, again and again.
const BREATH: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let posts = Posts::read("/contract/posts.json")?;
    let router = routes::router(posts, Database::at(options.backend_port, options.pool));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads).enable_all().build()?;
    let address = options.address();
    let tls_address = options.tls_address();
    let acceptor =
        tls_address.map(|_| tls::settings()).transpose()?.map(|settings| TlsAcceptor::from(Arc::new(settings)));
    let served = runtime.block_on(async {
        let listener = listen(address)?;
        let encrypted = tls_address.map(listen).transpose()?.zip(acceptor);
        // As a task, it runs on a worker's thread, and not on this one.
        tokio::spawn(serve(listener, encrypted, router)).await?
    });
    runtime.shutdown_background();
    Ok(served?)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accept a connection to be encrypted; never returns where none is.
async fn accept_encrypted(
    encrypted: Option<&(TcpListener, TlsAcceptor)>,
) -> io::Result<(TcpStream, Option<TlsAcceptor>)> {
    match encrypted {
        Some((listener, acceptor)) => Ok((listener.accept().await?.0, Some(acceptor.clone()))),
        None => pending().await,
    }
}

/// Serve until SIGTERM or SIGINT. axum::serve would do the same, but would look for HTTP/2 on every connection.
async fn serve(listener: TcpListener, encrypted: Option<(TcpListener, TlsAcceptor)>, router: Router) -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.pipeline_flush(true);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.map(|(stream, _)| (stream, None)),
            accepted = accept_encrypted(encrypted.as_ref()) => accepted,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        };
        let Ok((stream, acceptor)) = accepted else {
            sleep(BREATH).await;
            continue;
        };
        let _ = stream.set_nodelay(true); // fails only when the client is gone
        let service = TowerToHyperService::new(router.clone());
        let (http, watcher) = (http.clone(), connections.watcher());
        // What ends a connection early, a client that is gone or no HTTP, concerns nobody else.
        tokio::spawn(async move {
            match acceptor {
                None => drop(watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await),
                Some(acceptor) => {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    drop(watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await);
                }
            }
        });
    }
    drop((listener, encrypted));
    let _ = timeout(GRACE, connections.shutdown()).await;
    Ok(())
}
