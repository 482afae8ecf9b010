package pgstore_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestMaintenance(t *testing.T) {
	t.Parallel()

	t.Run("the latest pass stands in a table, by the database's clock", func(t *testing.T) {
		t.Parallel()
		b, advance := setupClock(t)
		r := reservation("a")
		insert(t, b.store, r)
		settle(t, b.store, complete(r, "paid"))
		advance(48 * time.Hour)
		e, err := store.NewEvictor(b.store, store.EvictorOptions{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		p := e.Pass(t.Context())
		require.NoError(t, p.Err)
		require.Equal(t, 1, p.Removed)
		require.Equal(t, "evict/1/"+p.ID, value[string](t, b.pool, `SELECT name || '/' || rows || '/' || correlation_id FROM idempotency_maintenance`))
		require.True(t, value[bool](t, b.pool, `SELECT finished_at BETWEEN clock_timestamp() - interval '5 min' AND clock_timestamp()
			AND finished_at - started_at BETWEEN interval '0' AND interval '5 min' FROM idempotency_maintenance`))

		p = e.Pass(t.Context())
		require.NoError(t, p.Err)
		require.Equal(t, "evict/0/"+p.ID, value[string](t, b.pool, `SELECT name || '/' || rows || '/' || correlation_id FROM idempotency_maintenance`))
	})

	t.Run("held records are counted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		rs := []store.Reservation{reservation("a"), reservation("b"), reservation("c")}
		insert(t, b.store, rs...)
		for _, r := range rs[:2] {
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}))
		}
		held, err := b.store.CountHeld(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, held)
	})

	t.Run("a role without rights on the table is told so, and what was evicted is gone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		execute(t, b.pool, `DROP TABLE idempotency_maintenance`)
		e, err := store.NewEvictor(b.store, store.EvictorOptions{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		p := e.Pass(t.Context())
		require.ErrorIs(t, p.Err, store.ErrSchema)
		require.ErrorContains(t, p.Err, "dedupe migrate up")
		require.EqualValues(t, 0, p.Held)
	})

	t.Run("a closed store does neither", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		b.store.Close()
		_, err := b.store.CountHeld(t.Context())
		require.ErrorIs(t, err, store.ErrClosed)
		require.ErrorIs(t, b.store.RecordPass(t.Context(), store.Pass{}), store.ErrClosed)
	})

	t.Run("works in a schema of its own", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{})
		execute(t, b.pool, `CREATE SCHEMA "Ours"`)
		for _, table := range []string{"records", "maintenance", "schema", "server"} {
			execute(t, b.pool, `ALTER TABLE idempotency_`+table+` SET SCHEMA "Ours"`)
		}
		s := requireStore(t, b.pool, pgstore.Options{Schema: "Ours"})
		require.NoError(t, s.RecordPass(t.Context(), store.Pass{ID: "x"}))
		held, err := s.CountHeld(t.Context())
		require.NoError(t, err)
		require.Zero(t, held)
	})
}
