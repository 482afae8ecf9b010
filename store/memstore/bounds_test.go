package memstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

func reservation(key string) store.Reservation {
	return store.Reservation{
		Key: key, Hashes: []string{"h"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
	}
}

// bundle is a store for three records.
type bundle struct {
	*testing.T
	clock *clock
	store *memstore.Store
}

func setup(t *testing.T) *bundle {
	t.Helper()
	c := &clock{}
	return &bundle{T: t, clock: c, store: newStore(t, memstore.Options{MaxRecords: 3, Now: c.Now})}
}

func (b *bundle) reserve(all ...store.Reservation) ([]store.Found, error) {
	return b.store.Reserve(b.Context(), all)
}

func (b *bundle) fill(changes ...func(*store.Reservation)) []store.Reservation {
	b.Helper()
	var all []store.Reservation
	for i := range 3 {
		r := reservation(fmt.Sprint("old-", i))
		for _, change := range changes {
			change(&r)
		}
		all = append(all, r)
	}
	_, err := b.reserve(all...)
	require.NoError(b, err)
	return all
}

func (b *bundle) requireKept(all []store.Reservation) {
	b.Helper()
	for _, r := range all {
		rec, err := b.store.Get(b.Context(), r.Key)
		require.NoError(b, err)
		require.Equal(b, r.Token, rec.Token)
	}
}

func TestFullStore(t *testing.T) {
	t.Parallel()

	t.Run("refuses new keys and drops no live record", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		all := b.fill()
		b.clock.Advance(30 * time.Minute) // leases are over, retention is not
		_, err := b.reserve(reservation("new"))
		require.ErrorIs(t, err, store.ErrFull)
		b.requireKept(all)
	})

	t.Run("still answers and acquires the keys that it has", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		all := b.fill()
		b.clock.Advance(2 * time.Minute)
		r := reservation(all[0].Key)
		claimed, err := store.Claim(t.Context(), b.store, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, claimed.Action)
	})

	t.Run("makes room of records whose retention is over, oldest first", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		all := b.fill()
		b.clock.Advance(10 * time.Minute)
		next := reservation(all[0].Key)
		_, err := store.Claim(t.Context(), b.store, next) // its retention begins anew
		require.NoError(t, err)
		b.clock.Advance(55 * time.Minute)
		found, err := b.reserve(reservation("new"))
		require.NoError(t, err)
		require.True(t, found[0].Inserted)
		b.requireKept([]store.Reservation{next})
		_, err = b.reserve(reservation("new-2"), reservation("new-3"))
		require.ErrorIs(t, err, store.ErrFull, "there is room for one")
		_, err = b.reserve(reservation("new-2"))
		require.NoError(t, err)
		b.requireKept([]store.Reservation{next})
	})

	t.Run("reserves none of a batch that does not fit", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.reserve(reservation("a"), reservation("b"), reservation("c"), reservation("d"))
		require.ErrorIs(t, err, store.ErrFull)
		for _, key := range []string{"a", "b", "c", "d"} {
			_, err := b.store.Get(t.Context(), key)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
	})

	t.Run("does not make room of a record that the same call asks for", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		all := b.fill()
		b.clock.Advance(2 * time.Hour)
		found, err := b.reserve(reservation("new"), reservation(all[0].Key), reservation("new-2"))
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, true}, []bool{found[0].Inserted, found[1].Inserted, found[2].Inserted})
		b.requireKept(all[:1])
		_, err = b.store.Evict(t.Context(), 10)
		require.NoError(t, err)
		_, err = b.store.Get(t.Context(), all[0].Key)
		require.ErrorIs(t, err, store.ErrNotFound, "it is removable as before")
	})

	t.Run("keeps what somebody has to resolve, however old", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		all := b.fill(func(r *store.Reservation) { r.Policy = store.Refuse })
		b.clock.Advance(24 * time.Hour)
		_, err := b.reserve(reservation("new"))
		require.ErrorIs(t, err, store.ErrFull)
		b.requireKept(all)
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()

	t.Run("a negative bound is refused by name", func(t *testing.T) {
		t.Parallel()
		_, err := memstore.New(memstore.Options{MaxRecords: -1})
		require.ErrorContains(t, err, "dedupe: memstore: Options.MaxRecords is negative: -1")
	})

	t.Run("the default clock is the one of the bubble it runs in", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, memstore.Options{})
			_, err := s.Reserve(t.Context(), []store.Reservation{reservation("a")})
			require.NoError(t, err)
			<-time.After(40 * time.Second)
			rec, err := s.Get(t.Context(), "a")
			require.NoError(t, err)
			require.Equal(t, 20*time.Second, rec.LeaseLeft)
			<-time.After(20 * time.Second)
			rec, err = s.Get(t.Context(), "a")
			require.NoError(t, err)
			require.False(t, rec.LeaseLive(), "at its end a lease is over")
		})
	})
}

func TestClose(t *testing.T) {
	t.Parallel()

	t.Run("closing twice is closing once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.store.Close()
		b.store.Close()
		require.ErrorIs(t, b.store.Check(t.Context()), store.ErrClosed)
	})
}
