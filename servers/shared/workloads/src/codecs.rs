//! The libraries that decode and encode the batch, each through serde. What a library lets pass and the contract refuses is refused here
//! or in `members`: each body is validated as UTF-8 at once, before or by the library.

use serde::Serialize;

use crate::Refusal;
use crate::batch::Batch;

/// A library that decodes a body into a batch, and encodes it again.
pub trait Codec: 'static {
    /// Decode a body, and return what `then` makes of the batch.
    fn decoded<R>(body: &[u8], then: impl FnOnce(&Batch<'_>) -> Result<R, Refusal>) -> Result<R, Refusal>;

    /// Return the JSON of a receipt or a batch.
    fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Refusal>;
}

/// Return the receipt of the batch in a body.
pub fn receipt<C: Codec>(body: &[u8]) -> Result<Vec<u8>, Refusal> {
    C::decoded(body, |batch| C::encoded(&batch.receipt()?))
}

/// Return the batch in a body, encoded again.
pub fn echo<C: Codec>(body: &[u8]) -> Result<Vec<u8>, Refusal> {
    C::decoded(body, |batch| batch.receipt().and_then(|_| C::encoded(batch)))
}

fn text(body: &[u8]) -> Result<&str, Refusal> {
    simdutf8::basic::from_utf8(body).map_err(Refusal::bad)
}

/// serde_json.
pub struct SerdeJson;

impl Codec for SerdeJson {
    fn decoded<R>(body: &[u8], then: impl FnOnce(&Batch<'_>) -> Result<R, Refusal>) -> Result<R, Refusal> {
        let mut deserializer = serde_json::Deserializer::from_str(text(body)?);
        deserializer.disable_recursion_limit(); // it would refuse level 128, which the contract accepts; `members` counts
        let batch = serde::Deserialize::deserialize(&mut deserializer).map_err(Refusal::bad)?;
        deserializer.end().map_err(Refusal::bad)?;
        then(&batch)
    }

    fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
        serde_json::to_vec(value).map_err(Refusal::bad)
    }
}

/// sonic-rs reads four digits of an exponent only. A fifth one matters to a number of more than 9000 digits, which fills a piece of this
/// size wherever it stands; serde_json decodes a body that may have one.
#[cfg(feature = "sonic-rs")]
const NUMBER_PIECE: usize = 4096;

/// sonic-rs.
#[cfg(feature = "sonic-rs")]
pub struct SonicRs;

#[cfg(feature = "sonic-rs")]
impl Codec for SonicRs {
    fn decoded<R>(body: &[u8], then: impl FnOnce(&Batch<'_>) -> Result<R, Refusal>) -> Result<R, Refusal> {
        if body.chunks_exact(NUMBER_PIECE).any(|piece| piece.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
        {
            return SerdeJson::decoded(body, then);
        }
        let batch = sonic_rs::from_str(text(body)?).map_err(Refusal::bad)?;
        then(&batch)
    }

    fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
        sonic_rs::to_vec(value).map_err(Refusal::bad)
    }
}

/// simd-json.
#[cfg(feature = "simd-json")]
pub struct SimdJson;

#[cfg(feature = "simd-json")]
impl Codec for SimdJson {
    fn decoded<R>(body: &[u8], then: impl FnOnce(&Batch<'_>) -> Result<R, Refusal>) -> Result<R, Refusal> {
        use std::cell::RefCell;
        thread_local! {
            // simd-json unescapes in place, so it needs a body that may be written.
            static KEPT: RefCell<(Vec<u8>, simd_json::Buffers)> = RefCell::default();
        }
        KEPT.with_borrow_mut(|(copy, buffers)| {
            copy.clear();
            copy.extend_from_slice(body);
            let batch = simd_json::serde::from_slice_with_buffers(copy, buffers).map_err(Refusal::bad)?;
            then(&batch)
        })
    }

    fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
        simd_json::to_vec(value).map_err(Refusal::bad)
    }
}

#[cfg(all(test, feature = "sonic-rs", feature = "simd-json"))]
mod tests {
    use super::*;

    const BATCH: &str = r#"{"operations":[{"method":"POST","relative-url":"\u0061/ü","body":{"filters":[
        {"column":"\ud83d\ude82","value":0.1},{"column":"b","value":null},{"column":"c","value":true},{"column":"d","value":"\n"}],
        "readColumns":[{"column":"e","dataReturnType":""}],"operationId":null}}]}"#;
    const RECEIPT: &str = r#"{"operations":1,"filters":4,"readColumns":1,"nulls":1,"textBytes":17,"numberSum":0.1}"#;
    const ECHO: &str = r#"{"operations":[{"method":"POST","relative-url":"a/ü","body":{"filters":[{"column":"🚂","value":0.1},{"column":"b","value":null},{"column":"c","value":true},{"column":"d","value":"\n"}],"readColumns":[{"column":"e","dataReturnType":""}]}}]}"#;

    /// What each codec makes of a body: the receipt and the echo, None where it is refused.
    fn made_of(body: &[u8]) -> [Option<[String; 2]>; 3] {
        fn made<C: Codec>(body: &[u8]) -> Option<[String; 2]> {
            let both = [receipt::<C>(body).ok()?, echo::<C>(body).ok()?];
            Some(both.map(|bytes| String::from_utf8(bytes).unwrap()))
        }
        [made::<SerdeJson>(body), made::<SonicRs>(body), made::<SimdJson>(body)]
    }

    /// The batch with one more member, which no codec knows.
    fn with(ignored: &str) -> Vec<u8> {
        BATCH.replace(r#""operationId""#, &format!(r#""more":{ignored},"operationId""#)).into_bytes()
    }

    fn nested(levels: usize) -> String {
        "[".repeat(levels) + &"]".repeat(levels)
    }

    #[test]
    fn every_codec_gives_the_same_receipt_and_echo() {
        for body in [BATCH.into(), with("{\"\\u0000\":[1e-999,-0,\"\\ud83d\\ude82\"]}"), with(&nested(124))] {
            for made in made_of(&body) {
                assert_eq!(made, Some([RECEIPT.to_owned(), ECHO.to_owned()]), "{}", String::from_utf8_lossy(&body));
            }
        }
    }

    #[test]
    fn every_codec_refuses_what_the_contract_refuses() {
        let ignored =
            [&nested(125), &nested(500_000), "[[", "\"\\ud83d\"", "{\"\\udc00\":0}", "[1,]", "01", "\"\u{1}\"", "nul"]
                .map(with);
        let whole =
            ["", "null", "[]", "{}", r#"{"operations":[]}"#, &format!("{BATCH}{{}}"), &format!("\u{feff}{BATCH}")];
        let whole = whole.map(|text| text.as_bytes().to_vec());
        let invalid = [BATCH.as_bytes(), b"\xff"].concat();
        for body in ignored.into_iter().chain(whole).chain([invalid]) {
            assert_eq!(made_of(&body), [None, None, None], "{}", String::from_utf8_lossy(&body));
        }
    }

    #[test]
    fn numbers_are_the_nearest_doubles() {
        let long = format!("0.{}7e20000", "0".repeat(20_000));
        for (written, expected) in [
            (long.as_str(), 0.7),
            ("9007199254740993", 9007199254740992.0),
            ("1e23", 1e23),
            ("123456789012345678901234567890", 1.2345678901234568e29),
        ] {
            let body = BATCH.replace("0.1", written);
            for made in made_of(body.as_bytes()) {
                let [receipt, _] = made.expect(written);
                let (_, sum) = receipt.rsplit_once(':').unwrap();
                assert_eq!(sum.trim_end_matches('}').parse(), Ok(expected), "{written}");
            }
        }
    }
}
