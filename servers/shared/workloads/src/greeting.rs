//! The texts, the present time, and the ten random numbers.

use chrono::{SecondsFormat, Utc};
use rand::RngExt;
use serde::Serialize;

pub const HELLO: &str = "Hello, World!";
pub const LINE: &str = "Hello, world!\n";

#[derive(Serialize)]
pub struct Greeting {
    pub message: &'static str,
    pub ts: String,
}

impl Greeting {
    /// Return the greeting with a time.
    pub const fn at(ts: String) -> Self {
        Self { message: "Hello, world!", ts }
    }

    /// Return the greeting with the present time.
    pub fn now() -> Self {
        Self::at(Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

macro_rules! numbers {
    ($($field:ident $name:literal),*) => {
        #[derive(Serialize)]
        pub struct Numbers {
            $(#[serde(rename = $name)] $field: u16,)*
        }

        impl Numbers {
            /// Return ten random numbers.
            pub fn drawn() -> Self {
                let mut random = rand::rng();
                Self { $($field: random.random_range(0..1000),)* }
            }
        }
    };
}

numbers!(
    n1 "Test Number 1", n2 "Test Number 2", n3 "Test Number 3", n4 "Test Number 4", n5 "Test Number 5",
    n6 "Test Number 6", n7 "Test Number 7", n8 "Test Number 8", n9 "Test Number 9", n10 "Test Number 10"
);
