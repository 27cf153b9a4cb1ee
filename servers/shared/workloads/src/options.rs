//! The command line of a server.

use std::env;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What the command line says.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub port: u16,
    pub threads: usize,
    /// Where it listens with TLS; 0: nowhere.
    pub tls_port: u16,
    pub backend_port: u16,
    pub pool: usize,
}

pub const USAGE: &str =
    "usage: server --port PORT --threads THREADS [--tls-port PORT] [--backend-port PORT] [--pool CONNECTIONS]";

impl Options {
    /// Read the arguments that follow the program's name; None when they are wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { port: 0, threads: 0, tls_port: 0, backend_port: 0, pool: 10 };
        while let Some(name) = words.next() {
            let value = words.next()?;
            match name.as_str() {
                "--port" => options.port = value.parse().ok()?,
                "--threads" => options.threads = value.parse().ok()?,
                "--tls-port" => options.tls_port = value.parse().ok()?,
                "--backend-port" => options.backend_port = value.parse().ok()?,
                "--pool" => options.pool = value.parse().ok()?,
                _ => return None,
            }
        }
        (options.port > 0 && options.threads > 0 && options.pool > 0).then_some(options)
    }

    /// Return the address to listen on.
    pub fn address(&self) -> SocketAddr {
        (listen_address(), self.port).into()
    }

    /// Return the address to listen on with TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        (self.tls_port > 0).then(|| (listen_address(), self.tls_port).into())
    }
}

/// Return LISTEN_ADDRESS of the environment, or loopback.
fn listen_address() -> IpAddr {
    env::var("LISTEN_ADDRESS").ok().and_then(|text| text.parse().ok()).unwrap_or(Ipv4Addr::LOCALHOST.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn port_and_threads_are_required() {
        let expected = Options { port: 80, threads: 2, tls_port: 443, backend_port: 5432, pool: 20 };
        assert_eq!(parsed("--port 80 --threads 2 --tls-port 443 --backend-port 5432 --pool 20"), Some(expected));
        for wrong in [
            "",
            "--port 80",
            "--threads 2",
            "--port 0 --threads 1",
            "--port 80 --threads",
            "--port 65536 --threads 1",
            "-x 1",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
