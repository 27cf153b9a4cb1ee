/** PostgreSQL behind the two sql workloads: one pool a process, prepared statements, and quick errors while it is away. */
import pg from 'pg';

// A client must hear of a failure within 3 s. While the database is away nobody gets past waiting for a connection, and a
// query that was under way when it left waits no longer for its result.
const PATIENCE_MS = 2500;

// pg prepares a statement that has a name once on each connection, and from then on only binds and executes it.
const NOW = { name: 'now', text: 'SELECT CAST(now() AS VARCHAR)', rowMode: 'array' };
const RECORDS = { name: 'records', text: 'SELECT id, number, name FROM record WHERE id = ANY($1)' };

/**
 * @param {number} port of PostgreSQL on BACKEND_ADDRESS, or 127.0.0.1; 0: there is none, and every query fails
 * @param {number} connections to keep at most
 */
export function openDatabase(port, connections) {
  if (port === 0) {
    // pg would take its default port, 5432, for 0: that of a server which is none of our business.
    const none = () => Promise.reject(new Error('none was started'));
    return { now: none, records: none, close: () => Promise.resolve() };
  }
  const pool = new pg.Pool({
    host: process.env.BACKEND_ADDRESS ?? '127.0.0.1',
    port,
    user: 'bench',
    database: 'bench',
    options: '-c TimeZone=UTC',
    max: connections,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
  });
  // The pool has dropped an idle connection that broke; the next query makes a new one or says why it cannot.
  pool.on('error', () => {});
  // pool.query gives its connection back whatever happens to the query, and whether or not the client still waits for it.
  return {
    /** The database's time, as it prints it. */
    now: async () => (await pool.query(NOW)).rows[0][0],
    /** The records with these ids, in any order. */
    records: async (ids) => (await pool.query({ ...RECORDS, values: [ids] })).rows,
    close: () => pool.end(),
  };
}
