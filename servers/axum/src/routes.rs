//! The routes of the contract's workloads.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, RawPathParams, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::RngExt;
use tokio::time::sleep;
use workloads::Refusal;
use workloads::blog::Posts;
use workloads::codecs::{self, Codec, SerdeJson, SimdJson, SonicRs};
use workloads::database::{Database, Records};
use workloads::greeting::{Greeting, HELLO, LINE, Numbers};
use workloads::request::{self, NAMES, NO_METHOD, NO_PATH, is_name};

use crate::body::Whole;

/// What all requests share.
struct Shared {
    posts: Posts,
    database: Database,
}

type Server = State<&'static Shared>;

/// Return the router of all workloads.
pub fn router(posts: Posts, database: Database) -> Router {
    // It lives as long as the process.
    let shared: &'static Shared = Box::leak(Box::new(Shared { posts, database }));
    Router::new()
        .route("/ping", get(HELLO))
        .route("/ping/delay/{ms}", get(|Path(ms): Path<String>| delay(ms, |most| most)))
        .route(
            "/ping/rand_delay/{ms}",
            get(|Path(ms): Path<String>| delay(ms, |most| rand::rng().random_range(0..=most))),
        )
        .route("/discard/{db}/{table}", post(discard))
        .merge(batches::<SerdeJson>("/dbop"))
        .merge(batches::<SerdeJson>("/dbopjson"))
        .merge(batches::<SonicRs>("/dbopsonic"))
        .merge(batches::<SimdJson>("/dbopsimd"))
        .route("/", get(LINE))
        .route("/text", get(LINE))
        .route("/json", get(async || Json(Greeting::now())))
        .route("/json10", get(async || Json(Numbers::drawn())))
        .route("/blog", get(blog))
        .route("/sql1", get(sql1))
        .route("/sql2", get(sql2))
        .fallback(async |_: Whole| Refused(NO_PATH))
        .method_not_allowed_fallback(async |_: Whole| Refused(NO_METHOD))
        .with_state(shared)
}

/// Return the routes of a codec.
fn batches<C: Codec>(path: &str) -> Router<&'static Shared> {
    Router::new()
        .route(&format!("{path}/{{db}}/{{table}}"), post(decode::<C>))
        .route(&format!("{path}/{{db}}/{{table}}/echo"), post(roundtrip::<C>))
}

async fn decode<C: Codec>(names: Result<Names, Refused>, Whole(body): Whole) -> Result<Response, Refused> {
    names?;
    Ok(sent(StatusCode::OK, codecs::receipt::<C>(&body)?))
}

async fn roundtrip<C: Codec>(names: Result<Names, Refused>, Whole(body): Whole) -> Result<Response, Refused> {
    names?;
    Ok(sent(StatusCode::OK, codecs::echo::<C>(&body)?))
}

async fn discard(names: Result<Names, Refused>, Whole(body): Whole) -> Result<Response, Refused> {
    names?;
    Ok(sent(StatusCode::OK, format!("{{\"bytes\":{}}}", body.len())))
}

async fn delay(ms: String, pick: fn(u64) -> u64) -> Result<&'static str, Refused> {
    sleep(Duration::from_millis(pick(request::delay_ms(&ms)?))).await;
    Ok(HELLO)
}

async fn blog(State(shared): Server) -> Html<String> {
    Html(shared.posts.page())
}

async fn sql1(State(shared): Server) -> Result<Json<Greeting>, Refused> {
    Ok(Json(Greeting::at(shared.database.now().await?)))
}

async fn sql2(State(shared): Server, RawQuery(query): RawQuery) -> Result<Json<Records>, Refused> {
    let count = request::count(query.as_deref())?;
    Ok(Json(shared.database.records(count).await?))
}

/// The names of a database and its table have been checked.
struct Names;

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let names =
            RawPathParams::from_request_parts(parts, state).await.map_err(|error| Refused(Refusal::bad(error)))?;
        if names.iter().all(|(_, name)| is_name(name)) { Ok(Self) } else { Err(Refused(NAMES)) }
    }
}

/// A refusal as a response.
pub struct Refused(pub Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        sent(status, self.0.json())
    }
}

/// Return a response whose body is JSON already.
fn sent(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
