package migrations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
)

// Result is what [Up] or [Down] did. It is also filled in beside an error, as
// far as it is known.
type Result struct {
	// Schema is the Postgres schema that was migrated.
	Schema string
	// From and To are its versions before and after; 0 means no tables. They
	// are equal if there was nothing to do.
	From, To int
}

// Up applies what is pending. It may run in several processes at once: they
// wait for each other, and all succeed. It needs the rights to create tables,
// and to create the schema if that is missing; if nothing is pending, none. It
// changes nothing in a database that a newer release has upgraded, and returns
// [ErrNewerSchema]. Where something is missing that it has applied before, it
// returns [ErrIncomplete].
//
// When ctx ends, the statement that is running is cancelled and rolled back.
func Up(ctx context.Context, databaseURL string, options Options) (Result, error) {
	return standard.run(ctx, DirectionUp, databaseURL, options)
}

// Down takes back Options.Steps migrations, the newest if that is 0. Taking
// back the first drops every record: calls that were made before can be made
// again. Stop the workers first. A schema that Up created stays.
func Down(ctx context.Context, databaseURL string, options Options) (Result, error) {
	return standard.run(ctx, DirectionDown, databaseURL, options)
}

func (s set) run(ctx context.Context, direction Direction, databaseURL string, options Options) (Result, error) {
	t, err := newTarget(databaseURL, options)
	if err != nil {
		return Result{}, err
	}
	status, err := s.prepare(ctx, t, direction)
	result := Result{Schema: status.Schema, From: status.Version, To: status.Version}
	if err != nil {
		return result, err
	}
	nothing := direction == DirectionUp && len(status.Pending) == 0 ||
		direction == DirectionDown && status.Version == 0
	if nothing && !status.Dirty {
		return result, status.complete()
	}
	d, err := newDriver(ctx, t, s, status.Schema)
	if err != nil {
		return result, err
	}
	defer func() { _ = d.Close() }()

	err = s.drive(ctx, t, d, direction)
	after, statusErr := s.statusAfter(ctx, t, d)
	if statusErr == nil {
		result.To = after.Version
	}
	switch {
	case err != nil:
		return result, d.explain(ctx, err, after, statusErr)
	case statusErr != nil || direction == DirectionDown:
		return result, statusErr
	}
	return result, after.complete()
}

// prepare refuses what cannot be migrated, and creates the schema.
func (s set) prepare(ctx context.Context, t *target, direction Direction) (Status, error) {
	conn, err := t.connect(ctx)
	if err != nil {
		return Status{}, err
	}
	defer closeConn(conn)
	if err := t.requireSession(ctx, conn); err != nil {
		return Status{}, err
	}
	if direction == DirectionUp && t.options.Schema != "" {
		if err := createSchema(ctx, t, conn); err != nil {
			return Status{}, err
		}
	}
	status, err := s.statusOn(ctx, conn, t.options.Schema)
	switch {
	case err != nil:
		return status, clarify(ctx, err)
	case status.Schema == "":
		return status, errors.New("dedupe: migrations: the search_path leads to no existing schema; name one (Options.Schema, --schema)")
	case status.Version > status.Latest:
		return status, newerSchema(status.Schema, status.Version, status.Latest)
	}
	return status, nil
}

// createSchema creates Options.Schema unless it is there. It looks first,
// because CREATE SCHEMA IF NOT EXISTS asks for the right to create one even
// where there is nothing to do; and it locks, because two of them at once can
// fail in the catalogue. The lock ends with the transaction.
func createSchema(ctx context.Context, t *target, conn *pgx.Conn) error {
	err := func() error {
		var exists bool
		const look = `SELECT count(*) > 0 FROM pg_catalog.pg_namespace WHERE nspname = $1`
		if err := conn.QueryRow(ctx, look, t.options.Schema).Scan(&exists); err != nil || exists {
			return err
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := t.configure(ctx, conn); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('idempotency_records'), 0)`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, createSchemaSQL(t.options.Schema))
			return err
		})
	}()
	if err != nil {
		return clarify(ctx, fmt.Errorf("dedupe: migrations: create schema %q: %w", t.options.Schema, inner{err}))
	}
	return nil
}

// drive runs golang-migrate.
func (s set) drive(ctx context.Context, t *target, d *driver, direction Direction) error {
	files, err := iofs.New(s.files, ".")
	if err != nil {
		return err
	}
	m, err := migrate.NewWithInstance("embedded", files, "postgres", d)
	if err != nil {
		return err
	}
	// The server's lock_timeout comes first, and unlike golang-migrate's it
	// does not leave a waiting statement behind.
	m.LockTimeout = t.options.LockTimeout + 5*time.Second

	stop := interrupt(ctx, d.conn, m.GracefulStop)
	defer stop()
	switch steps := t.options.steps(direction); {
	case direction == DirectionDown:
		err = m.Steps(-steps)
	case steps == AllSteps:
		err = m.Up()
	default:
		err = m.Steps(steps)
	}
	var short migrate.ErrShortLimit
	if errors.Is(err, migrate.ErrNoChange) || errors.Is(err, os.ErrNotExist) || errors.As(err, &short) {
		err = nil // as far as there was a way to go
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// statusAfter reads the version for the result and for the error's text, with a
// context of its own and if need be on a new connection: the caller's context
// and the old connection may be what failed.
func (s set) statusAfter(ctx context.Context, t *target, d *driver) (Status, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.options.ConnectTimeout)
	defer cancel()
	if !d.conn.IsClosed() {
		if status, err := s.statusOn(ctx, d.conn, d.schema); err == nil {
			return status, nil
		}
	}
	conn, err := t.connect(ctx)
	if err != nil {
		return Status{}, err
	}
	defer closeConn(conn)
	return s.statusOn(ctx, conn, d.schema)
}
