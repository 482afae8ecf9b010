package migrations_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestReadStatus(t *testing.T) {
	t.Parallel()

	t.Run("of an empty database lists what is pending and creates nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, migrations.Status{
			Schema: "public", Version: 0, Latest: 1,
			Applied: []migrations.Applied{}, Pending: migrations.All(),
		}, status)
		require.EqualError(t, status.Check(), "dedupe: the schema needs migration: schema \"public\" has version 0, "+
			"this program needs 1; run `dedupe migrate up`")
		b.requireTables(t, "public")
	})

	t.Run("of a schema that is missing says so by version 0", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{Schema: "missing"})
		require.NoError(t, err)
		require.Equal(t, "missing", status.Schema)
		require.Equal(t, 0, status.Version)
	})

	t.Run("tells when each migration was applied", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		set := steps(t, "SELECT 1", "SELECT 2")
		_, err := set.Up(t.Context(), b.url, migrations.Options{Steps: 2})
		require.NoError(t, err)
		status, err := set.ReadStatus(t.Context(), b.url, migrations.Options{})
		require.NoError(t, err)
		require.Equal(t, 2, status.Version)
		require.Equal(t, []migrations.Migration{{Version: 3, Name: "step"}}, status.Pending)
		require.Len(t, status.Applied, 2)
		for _, a := range status.Applied {
			require.WithinDuration(t, time.Now(), a.AppliedAt, time.Hour)
		}
	})

	t.Run("reads the same in JSON", func(t *testing.T) {
		t.Parallel()
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		text, err := json.Marshal(migrations.Status{
			Schema: "public", Version: 1, Latest: 1, Dirty: true, Pending: []migrations.Migration{},
			Applied: []migrations.Applied{{Migration: migrations.Migration{Version: 1, Name: "a"}, AppliedAt: at}},
		})
		require.NoError(t, err)
		require.JSONEq(t, `{"schema": "public", "version": 1, "latest": 1, "dirty": true, "pending": [],
			"applied": [{"version": 1, "name": "a", "applied_at": "2026-01-02T03:04:05Z"}]}`, string(text))
	})
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err)
	b.requireExec(t, `INSERT INTO idempotency_schema VALUES (7, clock_timestamp())`)

	for name, call := range map[string]func() error{
		"Up":    func() error { _, err := migrations.Up(t.Context(), b.url, migrations.Options{}); return err },
		"Down":  func() error { _, err := migrations.Down(t.Context(), b.url, migrations.Options{}); return err },
		"Check": func() error { return migrations.Check(t.Context(), b.url, migrations.Options{}) },
	} {
		err := call()
		require.ErrorIs(t, err, migrations.ErrNewerSchema, name)
		require.EqualError(t, err, `dedupe: the schema is newer than this program: schema "public" has version 7, `+
			`this program knows versions up to 1; use a release that knows version 7 (it can also migrate down)`, name)
	}
	status, err := migrations.ReadStatus(t.Context(), b.url, migrations.Options{})
	require.NoError(t, err, "looking is always possible")
	require.Equal(t, 7, status.Version)
	require.Equal(t, migrations.Migration{Version: 7}, status.Applied[1].Migration)
	b.requireTables(t, "public", withBookkeeping()...)
	b.requireNoLocks(t)
}
