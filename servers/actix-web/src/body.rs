//! Whole bodies, as an extractor. actix-web's own, `Bytes`, would respond to one that is too large before the client has sent it.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_core::Stream;
use workloads::Refusal;
use workloads::request::{MAX_BODY, MAX_DRAINED, TOO_LARGE};

use crate::routes::Refused;

/// The body of a request, read to its end.
pub struct Whole(pub Bytes);

impl FromRequest for Whole {
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Refused>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let payload = payload.take();
        Box::pin(async move { read(payload, length.unwrap_or(0)).await.map(Self).map_err(Refused) })
    }
}

async fn read(mut payload: Payload, announced: usize) -> Result<Bytes, Refusal> {
    if announced > MAX_BODY {
        return Err(drain(payload).await);
    }
    let Some(first) = next(&mut payload).await? else { return Ok(Bytes::new()) };
    if first.len() == announced {
        return Ok(first); // no copy: it came in one piece
    }
    let mut whole = BytesMut::with_capacity(announced.max(first.len()));
    whole.extend_from_slice(&first);
    while whole.len() <= MAX_BODY {
        let Some(piece) = next(&mut payload).await? else { return Ok(whole.freeze()) };
        whole.extend_from_slice(&piece);
    }
    Err(drain(payload).await)
}

/// Return the next piece of a body, None at its end.
async fn next(payload: &mut Payload) -> Result<Option<Bytes>, Refusal> {
    poll_fn(|context| Pin::new(&mut *payload).poll_next(context)).await.transpose().map_err(Refusal::bad)
}

/// Read some more of a body that is too large: a client that is still sending would not see the response.
async fn drain(mut payload: Payload) -> Refusal {
    let mut drained = 0;
    while let Ok(Some(piece)) = next(&mut payload).await {
        drained += piece.len();
        if drained > MAX_DRAINED {
            break;
        }
    }
    TOO_LARGE
}
