package migrations_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestFailure(t *testing.T) {
	t.Parallel()

	t.Run("rolls back, says so, leaves no lock, and can be repeated", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.requireExec(t, `CREATE TABLE idempotency_audit (in_the_way int)`)

		result, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.ErrorContains(t, err, "000001_create_idempotency_records failed and was rolled back; the schema has version 0: ")
		require.ErrorContains(t, err, `column "key" does not exist (SQLSTATE 42703)`)
		require.NotContains(t, err.Error(), "CREATE TABLE", "the file's text is not the message")
		require.Equal(t, migrations.Result{Schema: "public"}, result)
		b.requireNoLocks(t)
		b.requireTables(t, "public", "idempotency_audit", "idempotency_schema_migrations")

		status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.True(t, status.Dirty)
		require.Equal(t, 0, status.Version)

		b.requireExec(t, `DROP TABLE idempotency_audit`)
		_, err = migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		status, err = migrations.ReadStatus(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.False(t, status.Dirty)
	})

	t.Run("in the middle keeps what came before", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "CREATE TABLE second ()", "CREATE TABLE third (); SELECT 1/0", "CREATE TABLE fourth ()")
		result, err := set.Up(t.Context(), b.url, migrations.Options{})
		require.ErrorContains(t, err, "000003_step failed and was rolled back; the schema has version 2: ")
		require.ErrorContains(t, err, "division by zero")
		require.Equal(t, migrations.Result{Schema: "public", From: 0, To: 2}, result)
		b.requireTables(t, "public", append(withBookkeeping(), "second")...)
		b.requireNoLocks(t)

		_, err = set.Down(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err, "also the way back is free")
	})

	t.Run("of an earlier run that left its mark is no obstacle", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		b.requireExec(t, `UPDATE idempotency_schema_migrations SET version = 2, dirty = true`)
		result, err := migrations.Up(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, 1, result.To)
		require.Equal(t, 1, requireValue[int](t, b, `SELECT count(*) FROM idempotency_schema_migrations WHERE version = 1 AND NOT dirty`))
	})
}

// occupied is a database in which another session holds the lock that every
// file takes first, until it is released.
func occupied(t *testing.T) (b *testBundle, release func()) {
	t.Helper()
	b = setup(t)
	other := &testBundle{conn: requireConn(t, b.url)}
	other.requireExec(t, `BEGIN; SELECT pg_advisory_xact_lock(hashtext('idempotency_records'), 1)`)
	return b, func() { other.requireExec(t, `ROLLBACK`) }
}

func TestWaiting(t *testing.T) {
	t.Parallel()

	t.Run("for a lock ends with LockTimeout", func(t *testing.T) {
		t.Parallel()
		b, _ := occupied(t)
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{LockTimeout: 100 * time.Millisecond})
		require.ErrorIs(t, err, migrations.ErrLockTimeout)
		require.ErrorContains(t, err, "failed and was rolled back; the schema has version 0")
		require.Equal(t, 1, strings.Count(err.Error(), "dedupe: "), err)
	})

	t.Run("for another migration ends with LockTimeout", func(t *testing.T) {
		t.Parallel()
		b, _ := occupied(t)
		first := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := migrations.Up(ctx, b.url, migrations.Options{})
			first <- err
		}()
		b.requireWaiter(t)
		_, err := migrations.Up(t.Context(), b.url, migrations.Options{LockTimeout: 100 * time.Millisecond})
		require.ErrorIs(t, err, migrations.ErrLockTimeout)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
	})

	t.Run("ends with the context, and the server's work with it", func(t *testing.T) {
		t.Parallel()
		b, release := occupied(t)
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := migrations.Up(ctx, b.url, migrations.Options{})
			done <- err
		}()
		b.requireWaiter(t)
		cancel()
		err := <-done
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "the schema has version 0")
		b.requireNoSessions(t)
		release()
		b.requireNoLocks(t)
		b.requireTables(t, "public", "idempotency_schema_migrations")
	})
}

// requireWaiter returns once a migration waits for an advisory lock.
func (b *testBundle) requireWaiter(t *testing.T) {
	t.Helper()
	b.requireSoon(t, `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()
		AND application_name = 'dedupe-migrate' AND wait_event = 'advisory'`)
}
