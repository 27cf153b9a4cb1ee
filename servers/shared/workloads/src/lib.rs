//! The contract's workloads for the servers in Rust: the batch and its codecs, the dynamic responses, the database, and the command line.
//! Routing, reading and responding is left to each server's framework.

pub mod batch;
pub mod blog;
pub mod codecs;
pub mod database;
pub mod greeting;
mod members;
pub mod options;
pub mod request;
pub mod tls;

use std::borrow::Cow;
use std::fmt::Display;

use serde::Serialize;

/// A request that is not served: the status of its response, and the reason.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub reason: Cow<'static, str>,
}

impl Refusal {
    pub const fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason: Cow::Borrowed(reason) }
    }

    /// Return the refusal of a body that is no batch.
    pub fn bad(reason: impl Display) -> Self {
        Self { status: 400, reason: Cow::Owned(reason.to_string()) }
    }

    /// Return the body of the response.
    pub fn json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            error: &'a str,
        }
        json(&Body { error: &self.reason })
    }
}

/// Return the JSON of a value that always has one.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("its members are strings and numbers")
}
