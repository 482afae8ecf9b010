package migrations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/remedy"
)

// Status is what the database says about its schema, against what this program
// knows.
type Status struct {
	// Schema is the Postgres schema that was looked at. It is empty if
	// Options.Schema is and the search_path leads to no existing schema.
	Schema string `json:"schema"`
	// Version is the highest version that was applied, 0 if none.
	Version int `json:"version"`
	// Latest is the newest version that this program knows.
	Latest int `json:"latest"`
	// Applied lists what was applied, oldest first, whoever applied it.
	Applied []Applied `json:"applied"`
	// Pending lists what Up would apply, in that order.
	Pending []Migration `json:"pending"`
	// Dirty means that an earlier Up or Down was interrupted. Version is true
	// nevertheless, since every file happens as a whole or not at all: run Up
	// or Down again, which clears the mark.
	Dirty bool `json:"dirty"`
	// Missing lists tables and columns that are not there although Version says so: see
	// [Missing]. Nothing is pending then, and Up does nothing about it but say so.
	Missing []Part `json:"missing,omitempty"`

	given string // Options.Schema
}

// Applied is a migration that the database has.
type Applied struct {
	Migration
	// AppliedAt is when, by the database's clock.
	AppliedAt time.Time `json:"applied_at"`
}

// Check returns nil if the schema is what this program needs, and otherwise an
// error that wraps [ErrPending], [ErrNewerSchema] or [ErrIncomplete] and says what helps.
func (s Status) Check() error {
	switch {
	case s.Version > s.Latest:
		return newerSchema(s.Schema, s.Version, s.Latest)
	case len(s.Pending) > 0:
		return fmt.Errorf("%w: schema %q has version %d, this program needs %d; run %s",
			ErrPending, s.Schema, s.Version, s.Latest, remedy.Up(s.given))
	}
	return s.complete()
}

// ReadStatus looks and changes nothing. A schema that is newer than this
// program, or missing, is a status and not an error; see [Status.Check]. It
// takes no lock and works through any pooler.
func ReadStatus(ctx context.Context, databaseURL string, options Options) (Status, error) {
	return standard.readStatus(ctx, databaseURL, options)
}

// Check reads the status and returns [Status.Check] of it: what a program that
// needs the tables asks at its start.
func Check(ctx context.Context, databaseURL string, options Options) error {
	status, err := ReadStatus(ctx, databaseURL, options)
	if err != nil {
		return err
	}
	return status.Check()
}

func (s set) readStatus(ctx context.Context, databaseURL string, options Options) (Status, error) {
	target, err := newTarget(databaseURL, options)
	if err != nil {
		return Status{}, err
	}
	conn, err := target.connect(ctx)
	if err != nil {
		return Status{}, err
	}
	defer closeConn(conn)
	return s.statusOn(ctx, conn, options.Schema)
}

const (
	selectSchemaSQL = `SELECT coalesce(nullif($1, ''), current_schema()::text, '')`

	selectTablesSQL = `
		SELECT count(*) FILTER (WHERE c.relname = 'idempotency_schema') > 0,
		       count(*) FILTER (WHERE c.relname = $2) > 0
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1`
)

// statusOn reads the status on an open connection. Tables are named with their
// schema: an unqualified name could find those of another schema further down
// the search_path, which the migration would not touch.
func (s set) statusOn(ctx context.Context, conn *pgx.Conn, schema string) (Status, error) {
	status := Status{Latest: s.latest(), Applied: []Applied{}, Pending: []Migration{}, given: schema}
	fail := func(err error) (Status, error) {
		return Status{}, fmt.Errorf("dedupe: migrations: read the schema's version: %w", err)
	}
	if err := conn.QueryRow(ctx, selectSchemaSQL, schema).Scan(&status.Schema); err != nil {
		return fail(err)
	}
	var hasVersions, hasBookkeeping bool
	if err := conn.QueryRow(ctx, selectTablesSQL, status.Schema, bookkeepingTable).
		Scan(&hasVersions, &hasBookkeeping); err != nil {
		return fail(err)
	}
	if hasVersions {
		rows, err := conn.Query(ctx, `SELECT version, applied_at FROM `+
			pgx.Identifier{status.Schema, "idempotency_schema"}.Sanitize()+` ORDER BY version`)
		if err != nil {
			return fail(err)
		}
		status.Applied, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Applied, error) {
			var a Applied
			err := row.Scan(&a.Version, &a.AppliedAt)
			a.Migration = s.find(a.Version)
			return a, err
		})
		if err != nil {
			return fail(err)
		}
	}
	if hasBookkeeping {
		if err := conn.QueryRow(ctx, `SELECT coalesce(bool_or(dirty), false) FROM `+
			pgx.Identifier{status.Schema, bookkeepingTable}.Sanitize()).Scan(&status.Dirty); err != nil {
			return fail(err)
		}
	}
	for _, a := range status.Applied {
		status.Version = max(status.Version, a.Version)
	}
	for _, m := range s.all() {
		if m.Version > status.Version {
			status.Pending = append(status.Pending, m)
		}
	}
	if s.shaped && status.Version == status.Latest {
		missing, err := Missing(ctx, conn, status.Schema)
		if err != nil {
			return fail(err)
		}
		if len(missing) > 0 {
			status.Missing = missing
		}
	}
	return status, nil
}
