package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// connectTimeout bounds the first connection to a database that somebody gave.
const connectTimeout = 10 * time.Second

// records is where the calls are remembered.
type records struct {
	store dedupe.Store
	pool  *pgxpool.Pool // nil in memory
	close func()
}

// inMemory returns records that end with this process.
func inMemory() (*records, error) {
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		return nil, err
	}
	return &records{store: s, close: s.Close}, nil
}

// inPostgres creates the tables where they are missing, and opens the store.
func inPostgres(ctx context.Context, url string) (*records, error) {
	if _, err := migrations.Up(ctx, url, migrations.Options{}); err != nil {
		return nil, fmt.Errorf("payment: migrations: %w", err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("payment: connect to Postgres: %w", err)
	}
	s, err := pgstore.New(ctx, pool, pgstore.Options{})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("payment: %w", err)
	}
	return &records{store: s, pool: pool, close: func() { s.Close(); pool.Close() }}, nil
}

// reach tells where a database is, or why it cannot be used. No password is
// printed.
func reach(ctx context.Context, url string) (where string, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return "", errors.New("payment: -database-url (or DATABASE_URL) is no address of a Postgres database, " +
			"such as postgres://user:password@host:5432/name")
	}
	where = fmt.Sprintf("%s at %s:%d", config.Database, config.Host, config.Port)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", fmt.Errorf("payment: the database that -database-url (or DATABASE_URL) names cannot be reached; "+
			"correct it, or leave it empty for a private Postgres: %w", err)
	}
	return where, conn.Close(ctx)
}

// row is what the demo shows of a record.
type row struct {
	Key          string
	Status       string
	Acquisitions int
}

// excerpt reads the records of a run's first charges, and counts all of the run.
func (r *records) excerpt(ctx context.Context, prefix string) (rows []row, total int, err error) {
	const run = "FROM idempotency_records WHERE starts_with(workflow_id, $1)"
	if err := r.pool.QueryRow(ctx, "SELECT count(*) "+run, prefix).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("payment: count the records: %w", err)
	}
	found, err := r.pool.Query(ctx, "SELECT key, status, acquisitions "+run+
		" AND activity_type = 'ChargePayment' ORDER BY key LIMIT 5", prefix)
	if err == nil {
		rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[row])
	}
	if err != nil {
		return nil, 0, fmt.Errorf("payment: read the records: %w", err)
	}
	return rows, total, nil
}
