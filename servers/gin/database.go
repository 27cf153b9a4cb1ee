package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const recordsInTable = 10_000

// How long a request waits for a connection, and then for its rows: less than 3 s together.
const (
	connectionPatience = 1500 * time.Millisecond
	rowsPatience       = time.Second
)

var errNoDatabase = errors.New("there is no database")

type record struct {
	ID     int32  `json:"id"`
	Number int32  `json:"number"`
	Name   string `json:"name"`
}

// database queries PostgreSQL. Each of its connections prepares a statement once, when it first meets it: pgx's default mode.
type database struct {
	pool *pgxpool.Pool // nil: there is none
}

// openDatabase connects to nothing yet: connections are made as requests need them, so the database may come and go.
func openDatabase(port, connections int) (*database, error) {
	if port == 0 {
		return &database{}, nil
	}
	config, err := pgxpool.ParseConfig(fmt.Sprintf(
		"host=%s port=%d user=bench dbname=bench sslmode=disable", cmp.Or(os.Getenv("BACKEND_ADDRESS"), "127.0.0.1"), port,
	))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.ConnectTimeout = connectionPatience
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &database{pool: pool}, err
}

// now is the time as PostgreSQL prints it.
func (d *database) now(client context.Context) (ts string, err error) {
	err = d.withConn(client, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, "SELECT CAST(now() AS VARCHAR)").Scan(&ts)
	})
	return ts, err
}

// records appends the records with these ids to found.
func (d *database) records(client context.Context, found []record, ids []int32) (_ []record, err error) {
	err = d.withConn(client, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, "SELECT id, number, name FROM record WHERE id = ANY($1)", ids)
		if err != nil {
			return err
		}
		found, err = pgx.AppendRows(found, rows, func(row pgx.CollectableRow) (r record, err error) {
			err = row.Scan(&r.ID, &r.Number, &r.Name)
			return r, err
		})
		return err
	})
	return found, err
}

// withConn lends a connection to a query. A client that leaves no longer waits for a connection, but a query under way goes on:
// pgx closes a connection whose query is cancelled, and a new one costs PostgreSQL far more than the rest of the query.
func (d *database) withConn(client context.Context, query func(context.Context, *pgxpool.Conn) error) error {
	if d.pool == nil {
		return errNoDatabase
	}
	waiting, enough := context.WithTimeout(client, connectionPatience)
	defer enough()
	conn, err := d.pool.Acquire(waiting)
	if err != nil {
		return err
	}
	defer conn.Release()
	running, enough := context.WithTimeout(context.WithoutCancel(client), rowsPatience)
	defer enough()
	return query(running, conn)
}
