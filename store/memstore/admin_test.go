package memstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// What operators do is compared with Postgres, step by step, by
// TestPostgresDoesWhatTheModelDoes; what is left is the trail and the ends.
func TestAdmin(t *testing.T) {
	t.Parallel()
	s := newStore(t, memstore.Options{})
	a := s.Admin()
	order := store.Order{Actor: "ann", Reason: "asked the provider"}
	r := store.Reservation{
		Key: "a", Hashes: []string{"v1::1"}, Token: store.NewToken(), Lease: time.Minute, Retention: time.Hour,
		Policy: store.Refuse, Origin: store.Origin{ActivityType: "Charge"},
	}
	_, err := s.Reserve(t.Context(), []store.Reservation{r})
	require.NoError(t, err)
	look := func() store.Entry {
		entries, err := a.Find(t.Context(), []string{"a", "absent"})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		return entries[0]
	}
	require.Equal(t, time.Minute, look().LeaseLength)
	complete := store.Change{
		Key: "a", Seen: look().Seen(), Token: store.NewToken(), Verb: store.VerbComplete,
		Force: true, Keep: time.Hour, Result: []byte("s3cret"),
	}
	got, err := a.Resolve(t.Context(), order, []store.Change{complete})
	require.NoError(t, err)
	require.Equal(t, []store.Resolved{store.ResolvedDone}, got)
	require.Nil(t, look().Result)
	require.True(t, look().HasResult)

	remove := store.Change{Key: "a", Seen: look().Seen(), Token: store.NewToken(), Verb: store.VerbDelete}
	_, err = a.Resolve(t.Context(), order, []store.Change{remove})
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	for range 2 { // the second is the repetition of a lost answer
		got, err = a.Purge(t.Context(), order, []store.Change{remove})
		require.NoError(t, err)
		require.Equal(t, []store.Resolved{store.ResolvedDone}, got)
	}
	trail, err := a.Audit(t.Context(), "a", 10)
	require.NoError(t, err)
	require.Len(t, trail, 2)
	require.Equal(t, "delete", trail[0].Verb)
	require.Equal(t, "complete --force", trail[1].Verb)
	require.Nil(t, trail[0].After)
	var after map[string]any
	require.NoError(t, json.Unmarshal(trail[1].After, &after))
	require.Equal(t, "completed", after["status"])
	require.NotContains(t, string(trail[1].After), "s3cret")
	all, err := a.Audit(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, trail[:1], all)

	s.Close()
	_, err = a.Find(t.Context(), []string{"a"})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = a.Stats(t.Context(), store.StatsOptions{})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = a.Purge(t.Context(), order, []store.Change{remove})
	require.ErrorIs(t, err, store.ErrClosed)
}
