package pgstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestTextThatPostgresCannotStore(t *testing.T) {
	t.Parallel()
	url := requireMigrated(t)
	const bad = "a\x00b\xffc"

	for _, mode := range execModes {
		t.Run("is replaced where people read it, with "+mode.String(), func(t *testing.T) {
			t.Parallel()
			s := requireStore(t, requirePool(t, url, execMode(mode)), pgstore.Options{})
			r := reservation(mode.String())
			r.Namespace, r.WorkflowID, r.RunID, r.ActivityID, r.ActivityType = bad, bad, bad, bad, bad
			r.Owner, r.TraceParent = bad, bad
			r.Attempt, r.ScheduledAt = 1<<40, time.Date(123456, 1, 1, 0, 0, 0, 0, time.UTC)
			insert(t, s, r)
			want := r.Origin
			const good = "a\uFFFDb\uFFFDc"
			want.Namespace, want.WorkflowID, want.RunID, want.ActivityID, want.ActivityType = good, good, good, good, good
			want.Owner, want.TraceParent = good, good
			want.Attempt, want.ScheduledAt = 1<<31-1, time.Time{}
			require.Equal(t, want, get(t, s, r).Origin)
		})
	}

	t.Run("is refused where it decides something", func(t *testing.T) {
		t.Parallel()
		s := requireStore(t, requirePool(t, url), pgstore.Options{})
		for field, change := range map[string]func(*store.Reservation){
			"Key":        func(r *store.Reservation) { r.Key = bad },
			"Hashes":     func(r *store.Reservation) { r.Hashes = []string{bad} },
			"Lineage":    func(r *store.Reservation) { r.Lineage = bad },
			"Invocation": func(r *store.Reservation) { r.Invocation = bad },
		} {
			good, r := reservation("good"), reservation("bad")
			change(&r)
			_, err := s.Reserve(t.Context(), []store.Reservation{good, r})
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			require.ErrorContains(t, err, field)
			_, err = s.Acquire(t.Context(), []store.Acquisition{{Reservation: r, SeenToken: r.Token, SeenStatus: store.StatusFailed}})
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			_, err = s.Get(t.Context(), "good")
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		_, err := s.Get(t.Context(), bad)
		require.ErrorIs(t, err, store.ErrInvalidArgument)
		_, err = s.Acquire(t.Context(), []store.Acquisition{{Reservation: reservation("a"), SeenStatus: bad}})
		require.ErrorContains(t, err, "SeenStatus")
	})
}
