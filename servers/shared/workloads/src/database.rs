//! PostgreSQL behind the server: a pool of connections whose statements are prepared.

use std::env;
use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use serde::{Serialize, Serializer};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};

use crate::Refusal;

const RECORDS_IN_TABLE: usize = 10_000;

// How long a request waits for a connection, and then for its rows: less than 3 s together.
const CONNECTION_PATIENCE: Duration = Duration::from_millis(1500);
const ROWS_PATIENCE: Duration = Duration::from_secs(1);

const NOW: &str = "SELECT CAST(now() AS VARCHAR)";
const RECORDS: &str = "SELECT id, number, name FROM record WHERE id = ANY($1)";

/// The database. It may come and go: connections are made as requests need them.
#[derive(Clone)]
pub struct Database(Option<Pool>);

/// Rows of the table, encoded as an array of objects.
pub struct Records(Vec<Row>);

#[derive(Serialize)]
struct Record<'a> {
    id: i32,
    number: i32,
    name: &'a str,
}

impl Serialize for Records {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|row| Record { id: row.get(0), number: row.get(1), name: row.get(2) }))
    }
}

impl Database {
    /// Return the database at a port of BACKEND_ADDRESS, or of loopback; 0: there is none.
    pub fn at(port: u16, connections: usize) -> Self {
        if port == 0 {
            return Self(None);
        }
        let mut config = Config::new();
        let address = env::var("BACKEND_ADDRESS").unwrap_or_else(|_| "127.0.0.1".to_owned());
        config.host(address).port(port).user("bench").dbname("bench").options("-c timezone=UTC");
        let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, fast);
        Self(Some(Pool::builder(manager).max_size(connections).build().expect("without timeouts it needs no runtime")))
    }

    /// Return the database's present time, as it writes it.
    pub async fn now(&self) -> Result<String, Refusal> {
        let rows = self.rows(NOW, None).await?;
        rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| away("no row"))
    }

    /// Return so many distinct records, drawn at random.
    pub async fn records(&self, count: usize) -> Result<Records, Refusal> {
        let drawn = rand::seq::index::sample(&mut rand::rng(), RECORDS_IN_TABLE, count);
        let ids = drawn.into_iter().map(|place| place as i32 + 1).collect();
        self.rows(RECORDS, Some(ids)).await.map(Records)
    }

    /// Return the rows of a statement. A client that leaves no longer waits for a connection, but a query under way goes on: a connection
    /// that went back to the pool with it would be shared by two requests.
    async fn rows(&self, statement: &'static str, ids: Option<Vec<i32>>) -> Result<Vec<Row>, Refusal> {
        let pool = self.0.as_ref().ok_or_else(|| away("there is none"))?;
        let client = timeout(CONNECTION_PATIENCE, pool.get()).await.map_err(away)?.map_err(away)?;
        tokio::spawn(async move {
            match timeout(ROWS_PATIENCE, query(&client, statement, ids)).await {
                Ok(rows) => rows.map_err(away),
                Err(late) => {
                    drop(Object::take(client)); // its query may still be under way
                    Err(away(late))
                }
            }
        })
        .await
        .map_err(away)?
    }
}

async fn query(client: &Client, text: &str, ids: Option<Vec<i32>>) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(text).await?;
    match &ids {
        Some(ids) => client.query(&statement, &[ids as &(dyn ToSql + Sync)]).await,
        None => client.query(&statement, &[]).await,
    }
}

fn away(reason: impl std::fmt::Display) -> Refusal {
    Refusal { status: 503, reason: format!("the database does not respond: {reason}").into() }
}
