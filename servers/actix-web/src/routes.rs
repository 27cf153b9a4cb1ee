//! The routes of the contract's workloads.

use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use actix_web::web::{self, Data, Html, Json, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource, ResponseError};
use rand::RngExt;
use tokio::time::sleep;
use workloads::Refusal;
use workloads::blog::Posts;
use workloads::codecs::{self, SerdeJson};
use workloads::database::{Database, Records};
use workloads::greeting::{Greeting, HELLO, LINE, Numbers};
use workloads::request::{self, NAMES, NO_METHOD, NO_PATH, is_name};

use crate::body::Whole;

/// What all requests of a worker share.
pub struct Shared {
    pub posts: &'static Posts,
    pub database: Database,
}

type Names = Path<(String, String)>;
type Outcome = Result<HttpResponse, Refused>;

/// Add the routes of all workloads.
pub fn configure(service: &mut ServiceConfig) {
    service
        .service(resource("/ping").get(async || text(HELLO)))
        .service(resource("/ping/delay/{ms}").get(async |ms: Path<String>| delay(&ms, |most| most).await))
        .service(
            resource("/ping/rand_delay/{ms}")
                .get(async |ms: Path<String>| delay(&ms, |most| rand::rng().random_range(0..=most)).await),
        )
        .service(resource("/discard/{db}/{table}").post(discard))
        .service(resource("/").get(async || text(LINE)))
        .service(resource("/text").get(async || text(LINE)))
        .service(resource("/json").get(async || Json(Greeting::now())))
        .service(resource("/json10").get(async || Json(Numbers::drawn())))
        .service(resource("/blog").get(async |shared: Data<Shared>| Html::new(shared.posts.page())))
        .service(resource("/sql1").get(sql1))
        .service(resource("/sql2").get(sql2))
        .default_service(web::to(async |_: Whole| Refused(NO_PATH).error_response()));
    for path in ["/dbop", "/dbopjson"] {
        service
            .service(resource(&format!("{path}/{{db}}/{{table}}")).post(decode))
            .service(resource(&format!("{path}/{{db}}/{{table}}/echo")).post(roundtrip));
    }
}

fn resource(path: &str) -> Resource {
    web::resource(path).default_service(web::to(async |_: Whole| Refused(NO_METHOD).error_response()))
}

async fn decode(names: Names, Whole(body): Whole) -> Outcome {
    check(&names)?;
    Ok(json(codecs::receipt::<SerdeJson>(&body)?))
}

async fn roundtrip(names: Names, Whole(body): Whole) -> Outcome {
    check(&names)?;
    Ok(json(codecs::echo::<SerdeJson>(&body)?))
}

async fn discard(names: Names, Whole(body): Whole) -> Outcome {
    check(&names)?;
    Ok(json(format!("{{\"bytes\":{}}}", body.len()).into_bytes()))
}

fn check(names: &Names) -> Result<(), Refusal> {
    let (db, table) = names.as_ref();
    if is_name(db) && is_name(table) { Ok(()) } else { Err(NAMES) }
}

async fn delay(ms: &str, pick: fn(u64) -> u64) -> Outcome {
    sleep(Duration::from_millis(pick(request::delay_ms(ms)?))).await;
    Ok(text(HELLO))
}

async fn sql1(shared: Data<Shared>) -> Result<Json<Greeting>, Refused> {
    Ok(Json(Greeting::at(shared.database.now().await?)))
}

async fn sql2(shared: Data<Shared>, request: HttpRequest) -> Result<Json<Records>, Refused> {
    let count = request::count(request.uri().query())?;
    Ok(Json(shared.database.records(count).await?))
}

fn text(text: &'static str) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body(text)
}

/// Return a response whose body is JSON already.
fn json(body: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(body)
}

/// A refusal as a response.
#[derive(Debug)]
pub struct Refused(pub Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, told: &mut fmt::Formatter) -> fmt::Result {
        told.write_str(&self.0.reason)
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::build(self.status_code()).content_type(ContentType::json()).body(self.0.json())
    }
}
