//! What the contract requires of paths and queries.

use std::borrow::Cow;

use crate::Refusal;

/// Bytes of a body; more are refused with 413.
pub const MAX_BODY: usize = 4 << 20;

/// Bytes that are still read of a body that is too large. A client that is sending would not see the response otherwise.
pub const MAX_DRAINED: usize = 4 * MAX_BODY;

pub const NAMES: Refusal = Refusal::new(400, "database and table: 1 to 64 characters are required");
pub const TOO_LARGE: Refusal = Refusal::new(413, "the body is larger than 4 MiB");
pub const NO_PATH: Refusal = Refusal::new(404, "no such path");
pub const NO_METHOD: Refusal = Refusal::new(405, "no such method here");
const DELAY: Refusal = Refusal::new(400, "the delay is a whole number of milliseconds, 0 to 60000");
const COUNT: Refusal = Refusal::new(400, "count: a whole number from 1 to 500 is required");

const MAX_CHARACTERS: usize = 64;
const MAX_DELAY_MS: u64 = 60_000;
const COUNT_NOT_GIVEN: usize = 20;
const MAX_COUNT: usize = 500;

/// Return whether a column, database or table has 1 to 64 characters; they are only counted when the bytes do not settle it.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && (text.len() <= MAX_CHARACTERS || text.chars().count() <= MAX_CHARACTERS)
}

/// Return the milliseconds of a delay.
pub fn delay_ms(text: &str) -> Result<u64, Refusal> {
    digits(text).and_then(|text| text.parse().ok()).filter(|ms| *ms <= MAX_DELAY_MS).ok_or(DELAY)
}

/// Return the member `count` of a query: nothing but digits, the first of them not 0.
pub fn count(query: Option<&str>) -> Result<usize, Refusal> {
    for member in query.unwrap_or_default().split('&') {
        let (name, value) = member.split_once('=').unwrap_or((member, ""));
        if unescaped(name) == "count" {
            let value = unescaped(value);
            let plain = digits(&value).filter(|text| !text.starts_with('0'));
            return plain.and_then(|text| text.parse().ok()).filter(|count| *count <= MAX_COUNT).ok_or(COUNT);
        }
    }
    Ok(COUNT_NOT_GIVEN)
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// Return a text without percent-encoding; one that is not UTF-8 then as it was.
fn unescaped(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_whole_number_from_1_to_500() {
        for (query, expected) in [(None, 20), (Some(""), 20), (Some("a=1&count=500&b"), 500), (Some("count=1"), 1)] {
            assert_eq!(count(query).unwrap(), expected);
        }
        for wrong in
            ["count=", "count", "count=0", "count=01", "count=+1", "count=501", "count=1%20", "count=%ff", "count=²"]
        {
            assert!(count(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_delay_is_a_whole_number_of_milliseconds() {
        assert_eq!((delay_ms("0").unwrap(), delay_ms("60000").unwrap()), (0, 60_000));
        for wrong in ["", "-1", "+1", "1.5", "60001", "99999999999999999999999", "a"] {
            assert!(delay_ms(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_counted_in_characters() {
        assert!(is_name("a") && is_name(&"é".repeat(64)) && is_name(&"🚂".repeat(64)));
        assert!(!is_name("") && !is_name(&"a".repeat(65)) && !is_name(&"🚂".repeat(65)));
    }
}
