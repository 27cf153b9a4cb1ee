//! Whole bodies, as an extractor. axum's own, `Bytes`, would respond to one that is too large before the client has sent it.

use std::pin::pin;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use http_body::Body as _;
use http_body_util::BodyExt;
use workloads::Refusal;
use workloads::request::{MAX_BODY, MAX_DRAINED, TOO_LARGE};

use crate::routes::Refused;

/// The body of a request, read to its end.
pub struct Whole(pub Bytes);

impl<S: Sync> FromRequest<S> for Whole {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        read(request.into_body()).await.map(Self).map_err(Refused)
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let announced = body.size_hint().lower() as usize;
    let mut body = pin!(body);
    if announced > MAX_BODY {
        return Err(drain(body).await);
    }
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if body.is_end_stream() && first.len() <= MAX_BODY {
        return Ok(first); // no copy: it came in one piece
    }
    let mut whole = Vec::with_capacity(announced.max(first.len()));
    whole.extend_from_slice(&first);
    while whole.len() <= MAX_BODY {
        let Some(piece) = next(&mut body).await? else { return Ok(whole.into()) };
        whole.extend_from_slice(&piece);
    }
    Err(drain(body).await)
}

/// Return the next piece of a body, None at its end.
async fn next(
    body: &mut (impl http_body::Body<Data = Bytes, Error = axum::Error> + Unpin),
) -> Result<Option<Bytes>, Refusal> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Refusal::bad)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Read some more of a body that is too large: a client that is still sending would not see the response.
async fn drain(mut body: impl http_body::Body<Data = Bytes, Error = axum::Error> + Unpin) -> Refusal {
    let mut drained = 0;
    while let Ok(Some(piece)) = next(&mut body).await {
        drained += piece.len();
        if drained > MAX_DRAINED {
            break;
        }
    }
    TOO_LARGE
}
