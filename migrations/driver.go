package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// bookkeepingTable is golang-migrate's own table. Its default name,
// schema_migrations, is most likely taken by the application.
const bookkeepingTable = "idempotency_schema_migrations"

// driver is golang-migrate's Postgres driver, but it believes
// idempotency_schema instead of golang-migrate's own table, which knows nothing
// of files that psql has run, and which keeps a mark after an interruption that
// only an operator could clear. Both are read under golang-migrate's lock.
type driver struct {
	database.Driver

	set    set
	conn   *pgx.Conn // the connection that database.Driver uses; only between its calls
	schema string
	logger *slog.Logger

	from    int       // the version before the migration that is running
	target  int       // the version after it
	started time.Time // when it began
	failed  error     // what it failed with
}

// newDriver connects. The caller closes the driver, which ends the session and
// with it every lock.
func newDriver(ctx context.Context, t *target, s set, schema string) (*driver, error) {
	d := &driver{set: s, schema: schema, logger: t.options.Logger}
	db := stdlib.OpenDB(*t.config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		d.conn = conn
		return t.configure(ctx, conn)
	}))
	db.SetMaxOpenConns(1)

	bounded, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	if err := db.PingContext(bounded); err != nil {
		_ = db.Close()
		return nil, t.connectError(ctx, err)
	}
	inner, err := open(ctx, db, d.conn, schema)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	d.Driver = inner
	return d, nil
}

// open creates golang-migrate's table if it is missing, under its lock.
func open(ctx context.Context, db *sql.DB, conn *pgx.Conn, schema string) (database.Driver, error) {
	stop := interrupt(ctx, conn, nil)
	defer stop()
	inner, err := migratepgx.WithInstance(db, &migratepgx.Config{
		MigrationsTable: bookkeepingTable,
		DatabaseName:    conn.Config().Database,
		SchemaName:      schema,
	})
	if err != nil {
		return nil, clarify(ctx, fmt.Errorf("dedupe: migrations: prepare the bookkeeping: %w", cause(err)))
	}
	return inner, nil
}

// Version returns the version that the tables have, never dirty: see
// [Status.Dirty]. golang-migrate calls it under its lock.
func (d *driver) Version() (int, bool, error) {
	status, err := d.set.statusOn(context.Background(), d.conn, d.schema)
	if err != nil {
		return 0, false, err
	}
	if status.Version > status.Latest {
		return 0, false, newerSchema(status.Schema, status.Version, status.Latest)
	}
	d.from = status.Version
	version := status.Version
	if version == 0 {
		version = database.NilVersion
	}
	recorded, dirty, err := d.Driver.Version()
	if err != nil {
		return 0, false, err
	}
	if recorded != version || dirty {
		if err := d.Driver.SetVersion(version, false); err != nil {
			return 0, false, err
		}
	}
	return version, false, nil
}

// SetVersion is called with dirty before each migration and without after it.
func (d *driver) SetVersion(version int, dirty bool) error {
	if dirty {
		d.target, d.started = max(version, 0), time.Now()
		return d.Driver.SetVersion(version, dirty)
	}
	text := "dedupe: migration applied"
	if d.target < d.from {
		text = "dedupe: migration taken back"
	}
	d.logger.Info(text, "migration", d.migration().String(), "schema", d.schema,
		"duration", time.Since(d.started))
	d.from = d.target
	return d.Driver.SetVersion(version, dirty)
}

// Run runs one file. A failure leaves its transaction open and aborted, in
// which not even the lock can be given back, so it is ended first.
func (d *driver) Run(file io.Reader) error {
	err := d.Driver.Run(file)
	if err == nil {
		return nil
	}
	d.failed = err
	if !d.conn.IsClosed() {
		_, _ = d.conn.Exec(context.Background(), `ROLLBACK`)
	}
	return err
}

// migration returns the one that is running.
func (d *driver) migration() Migration { return d.set.find(max(d.from, d.target)) }
