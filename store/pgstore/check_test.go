package pgstore_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// requireRefused requires that New fails with an error of the kind and the text.
func requireRefused(t *testing.T, pool pgstore.Pool, options pgstore.Options, kind error, text string) {
	t.Helper()
	s, err := pgstore.New(t.Context(), pool, options)
	require.Nil(t, s)
	require.Error(t, err)
	require.True(t, strings.HasPrefix(err.Error(), "dedupe: "), err)
	require.ErrorContains(t, err, text)
	if kind != nil {
		require.ErrorIs(t, err, kind)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()

	t.Run("no pool", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, nil, pgstore.Options{}, nil, "the pool is nil")
	})
	t.Run("a nil pool of a type", func(t *testing.T) {
		t.Parallel()
		var pool *pgxpool.Pool
		requireRefused(t, pool, pgstore.Options{}, nil, "nil *pgxpool.Pool")
	})
	t.Run("a single connection", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, &pgx.Conn{}, pgstore.Options{}, nil, "one goroutine at a time")
	})
	for field, options := range map[string]pgstore.Options{
		"Schema: 64 bytes":              {Schema: strings.Repeat("x", 64)},
		"Schema: must":                  {Schema: "a\x00"},
		"Schema: names that begin":      {Schema: "pg_temp"},
		"BatchSize: -1":                 {BatchSize: -1},
		"BatchSize: 10001":              {BatchSize: 10_001},
		"BatchesInFlight: -1":           {BatchesInFlight: -1},
		"BatchesInFlight: 65":           {BatchesInFlight: 65},
		"CallTimeout is negative: -1ns": {CallTimeout: -1},
		"CallTimeout: below one mi":     {CallTimeout: time.Microsecond},
	} {
		t.Run("the option "+field, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, requirePool(t, "postgres://x@127.0.0.1:1/x"), options, nil, "Options."+field)
		})
	}

	t.Run("a port where nobody listens, in time and without the password", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, "postgres://someone:hunter2@127.0.0.1:1/x")
		begun := time.Now()
		_, err := pgstore.New(t.Context(), pool, pgstore.Options{CallTimeout: 3 * time.Second})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "connection refused")
		require.NotContains(t, err.Error(), "hunter2")
		require.Less(t, time.Since(begun), 10*time.Second)
	})
	t.Run("a server that never answers, in time", func(t *testing.T) {
		t.Parallel()
		silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = silent.Close() })
		pool := requirePool(t, "postgres://x@"+silent.Addr().String()+"/x?sslmode=disable")
		requireRefused(t, pool, pgstore.Options{CallTimeout: 300 * time.Millisecond}, store.ErrUnavailable, "check: ")
	})
	t.Run("a context that has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := pgstore.New(ctx, requirePool(t, "postgres://x@127.0.0.1:1/x"), pgstore.Options{})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("a pool that was closed", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, "postgres://x@127.0.0.1:1/x")
		pool.Close()
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, "the pool is closed")
	})
	t.Run("a login that the server refuses, at once", func(t *testing.T) {
		t.Parallel()
		u, err := url.Parse(localpgtest.RequireDatabase(t))
		require.NoError(t, err)
		u.Path = "/does_not_exist"
		requireRefused(t, requirePool(t, u.String()), pgstore.Options{CallTimeout: time.Minute}, store.ErrUnavailable, "no such database")
	})

	const remedy = "run `dedupe migrate up --database-url …`, or where that finds nothing to do, `dedupe migrate print | psql"
	t.Run("a database without the tables", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, requirePool(t, localpgtest.RequireDatabase(t)), pgstore.Options{}, store.ErrSchema, remedy)
	})
	t.Run("tables in a schema that is not the named one", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, requirePool(t, requireMigrated(t)), pgstore.Options{Schema: "Elsewhere"}, store.ErrSchema,
			"run `dedupe migrate up --schema Elsewhere --database-url …`, or where that finds nothing to do, `dedupe migrate print --schema Elsewhere | psql")
	})
	t.Run("tables that are too old", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t))
		execute(t, pool, `UPDATE idempotency_schema SET version = 0`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrSchema, remedy)
	})
	t.Run("tables that are too new", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t))
		execute(t, pool, `INSERT INTO idempotency_schema VALUES (2, now())`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrSchema, "upgrade this program")
	})
	t.Run("a view in place of the table", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t))
		execute(t, pool, `ALTER TABLE idempotency_records RENAME TO records; CREATE VIEW idempotency_records AS SELECT * FROM records`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrSchema, "name the schema of the table in Options.Schema")
	})
	t.Run("a read-only session", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, requireMigrated(t), func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
		})
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, "default_transaction_read_only")
		requireStore(t, pool, pgstore.Options{ReadOnly: true})
	})
	t.Run("a user who may not write", func(t *testing.T) {
		t.Parallel()
		link := requireMigrated(t)
		u, err := url.Parse(link)
		require.NoError(t, err)
		role := "reader_" + u.Path[1:]
		owner := requirePool(t, link)
		execute(t, owner, `CREATE ROLE `+role+`; GRANT SELECT ON idempotency_records, idempotency_schema TO `+role)
		t.Cleanup(func() {
			_, err := owner.Exec(context.WithoutCancel(t.Context()), `DROP OWNED BY `+role+`; DROP ROLE `+role)
			require.NoError(t, err)
		})
		pool := requirePool(t, link, func(c *pgxpool.Config) {
			c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, `SET ROLE `+role)
				return err
			}
		})
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, `the database user lacks INSERT on "idempotency_records", UPDATE on "idempotency_records", DELETE on "idempotency_records", SELECT on "idempotency_server"`)
		requireStore(t, pool, pgstore.Options{ReadOnly: true})

		const active = `row security keeps the database user from rows of "idempotency_records": ALTER TABLE`
		execute(t, owner, `GRANT ALL ON ALL TABLES IN SCHEMA public TO `+role+`; ALTER TABLE idempotency_records ENABLE ROW LEVEL SECURITY`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, active)
		requireRefused(t, pool, pgstore.Options{ReadOnly: true}, store.ErrUnavailable, active)
		requireStore(t, owner, pgstore.Options{}) // who owns a table has all its rows
		execute(t, owner, `CREATE POLICY part ON idempotency_records USING (namespace = 'default')`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, active)
		execute(t, owner, `CREATE POLICY reads ON idempotency_records FOR SELECT TO `+role+` USING (true)`)
		requireStore(t, pool, pgstore.Options{ReadOnly: true})
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, active)
		execute(t, owner, `CREATE POLICY whole ON idempotency_records TO `+role+` USING (true) WITH CHECK (true)`)
		requireStore(t, pool, pgstore.Options{})
		execute(t, owner, `CREATE POLICY limits ON idempotency_records AS RESTRICTIVE USING (attempt > 0)`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, active)
		execute(t, owner, `DROP POLICY limits ON idempotency_records; ALTER TABLE idempotency_schema ENABLE ROW LEVEL SECURITY`)
		requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, `rows of "idempotency_schema"`)
	})
}

func TestSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	text := []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	simple := text[1:]
	url := requireMigrated(t)
	for _, setting := range []struct {
		name, value string
		refused     []pgx.QueryExecMode // in these modes; in all others it changes nothing
	}{
		{"bytea_output", "escape", text},
		{"DateStyle", "German", text},
		{"DateStyle", "SQL, DMY", text},
		{"array_nulls", "off", text},
		{"client_encoding", "LATIN1", execModes},
		{"client_encoding", "SQL_ASCII", simple},
		{"standard_conforming_strings", "off", simple},
		{"options", "-c DateStyle=ISO,YMD -c IntervalStyle=sql_standard -c TimeZone=Africa/Monrovia -c extra_float_digits=-15 " +
			"-c backslash_quote=off -c xmlbinary=hex -c transform_null_equals=on", nil},
	} {
		for _, mode := range execModes {
			t.Run(fmt.Sprintf("%s=%s in mode %s", setting.name, setting.value, mode), func(t *testing.T) {
				t.Parallel()
				pool := requirePool(t, url, execMode(mode), func(c *pgxpool.Config) {
					c.ConnConfig.RuntimeParams[setting.name] = setting.value
				})
				if slices.Contains(setting.refused, mode) {
					requireRefused(t, pool, pgstore.Options{}, store.ErrUnavailable, "the session's "+setting.name+` is "`+setting.value)
					requireRefused(t, wrapped{pool}, pgstore.Options{}, store.ErrUnavailable, "SET "+setting.name+" = ")
					return
				}
				s := requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})
				for _, name := range []string{"nil", "NUL", "quotes"} {
					require.NoError(t, walk(t.Context(), s, fmt.Sprint(setting, mode, name, " über"), results()[name]))
				}
				_, err := s.Admin().List(t.Context(), store.Query{Limit: 10})
				require.NoError(t, err)
				_, err = s.Admin().Stats(t.Context(), store.StatsOptions{})
				require.NoError(t, err)
			})
		}
	}

	t.Run("that a later session has are named where values cannot be read", func(t *testing.T) {
		t.Parallel()
		for _, mode := range text {
			setting := map[string]string{"bytea_output": "hex", "DateStyle": "ISO"}
			pool := requirePool(t, url, execMode(mode), func(c *pgxpool.Config) {
				c.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
					_, err := conn.Exec(ctx, `SELECT set_config('bytea_output', $1, false), set_config('DateStyle', $2, false)`,
						setting["bytea_output"], setting["DateStyle"])
					return true, err
				}
			})
			s := requireStore(t, wrapped{pool}, pgstore.Options{})
			r := reservation("paid in mode " + mode.String())
			insert(t, s, r)
			settle(t, s, complete(r, "paid"))
			for name, value := range map[string]string{"bytea_output": "escape", "DateStyle": "German"} {
				before := setting[name]
				setting[name] = value
				_, err := s.Get(t.Context(), r.Key)
				require.ErrorIs(t, err, store.ErrUnavailable)
				require.ErrorContains(t, err, "the session's "+name+" is not")
				_, err = pgstore.InTx(ownerOf(s, r).context(t), pool, never)
				require.ErrorContains(t, err, "ALTER ROLE or DATABASE … SET "+name)
				setting[name] = before
			}
		}
	})
}

func TestTheOptionSchema(t *testing.T) {
	t.Parallel()
	const schema = `Odd "name" $1 {records} {version}`
	url := localpgtest.RequireDatabase(t)
	_, err := migrations.Up(t.Context(), url, migrations.Options{Schema: schema})
	require.NoError(t, err)
	for _, mode := range execModes {
		s := requireStore(t, requirePool(t, url, execMode(mode)), pgstore.Options{Schema: schema})
		require.NoError(t, walk(t.Context(), s, mode.String(), []byte("paid")))
	}
}

func TestCheckSaysWhenTheTablesHaveGone(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{})
	execute(t, b.pool, `ALTER TABLE idempotency_records RENAME TO gone`)
	require.ErrorIs(t, b.store.Check(t.Context()), store.ErrSchema)
	_, err := b.store.Reserve(t.Context(), []store.Reservation{reservation("a")})
	require.ErrorIs(t, err, store.ErrSchema)
	require.ErrorContains(t, err, "dedupe migrate up")
}
