package migrations_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestUp(t *testing.T) {
	t.Parallel()

	t.Run("creates the tables, once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var log bytes.Buffer
		options := migrations.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}

		result, err := migrations.Up(t.Context(), b.url, options)
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public", From: 0, To: 1}, result)
		b.requireTables(t, "public", withBookkeeping()...)
		require.Contains(t, log.String(), "migration=000001_create_idempotency_records")

		log.Reset()
		result, err = migrations.Up(t.Context(), b.url, options)
		require.NoError(t, err)
		require.Equal(t, migrations.Result{Schema: "public", From: 1, To: 1}, result)
		require.Empty(t, log.String())
		b.requireNoLocks(t)
	})

	t.Run("lets processes that start at once all succeed", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "CREATE TABLE second ()", "CREATE TABLE third ()")
		errs := make([]error, 8)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				<-start
				_, errs[i] = set.Up(t.Context(), b.url, migrations.Options{Schema: "crowded"})
			})
		}
		close(start)
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		b.requireTables(t, "crowded", append(withBookkeeping(), "second", "third")...)
		b.requireNoLocks(t)
	})

	t.Run("lets the existing schema be used without the right to create one", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		url := b.requireRole(t)
		b.requireExec(t, `CREATE SCHEMA given`)

		_, err := migrations.Up(t.Context(), url, migrations.Options{Schema: "given"})
		require.ErrorContains(t, err, "permission denied")

		_, err = migrations.Up(t.Context(), b.url, migrations.Options{Schema: "given"})
		require.NoError(t, err)
		b.requireExec(t, `GRANT USAGE ON SCHEMA given TO PUBLIC`)
		b.requireExec(t, `GRANT SELECT ON ALL TABLES IN SCHEMA given TO PUBLIC`)
		_, err = migrations.Up(t.Context(), url, migrations.Options{Schema: "given"})
		require.NoError(t, err, "nothing is pending, so reading is enough")
	})

	t.Run("stops after the steps it is given", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "CREATE TABLE second ()", "CREATE TABLE third ()")
		result, err := set.Up(t.Context(), b.url, migrations.Options{Steps: 2})
		require.NoError(t, err)
		require.Equal(t, 2, result.To)
		result, err = set.Up(t.Context(), b.url, migrations.Options{Steps: 2})
		require.NoError(t, err)
		require.Equal(t, 3, result.To)
	})
}

func TestUpInASchema(t *testing.T) {
	t.Parallel()

	t.Run("creates a schema whose name needs quotes", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		name := `We"ird; DROP TABLE x; --`
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{Schema: name})
		require.NoError(t, err)
		b.requireTables(t, name, withBookkeeping()...)
		b.requireTables(t, "public")
	})

	t.Run("keeps two schemas of a database apart", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		one, two := migrations.Options{Schema: "one"}, migrations.Options{Schema: "two"}
		for _, o := range []migrations.Options{one, two} {
			_, err := migrations.Up(t.Context(), b.url, o)
			require.NoError(t, err)
		}
		_, err := migrations.Down(t.Context(), b.url, one)
		require.NoError(t, err)
		b.requireTables(t, "one", "idempotency_schema_migrations")
		require.NoError(t, migrations.Check(t.Context(), b.url, two))
		require.ErrorIs(t, migrations.Check(t.Context(), b.url, one), migrations.ErrPending)
	})

	t.Run("does not take the tables of a schema further down the search path for its own", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		b.requireExec(t, `CREATE SCHEMA first`)
		b.requireExec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = first, public', current_database()); END $$`)

		require.ErrorIs(t, migrations.Check(t.Context(), b.url, migrations.Options{}), migrations.ErrPending)
		result, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, "first", result.Schema)
		b.requireTables(t, "first", withBookkeeping()...)
	})

	t.Run("never meets the application's own schema_migrations", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireExec(t, `CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL)`)
		b.requireExec(t, `INSERT INTO schema_migrations VALUES (20240101, true)`)
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		_, err = migrations.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, 1, requireValue[int](t, b, `SELECT count(*) FROM schema_migrations WHERE version = 20240101 AND dirty`))
	})
}
