package storetest

import (
	"log/slog"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// A store need not be maintained. One that is must be right.
func maintenanceTests() []named {
	return []named{
		{"held records are counted, and no others", maintainHeld},
		{"a pass removes what is over, and is recorded", maintainPass},
	}
}

func maintainHeld(k *kit) {
	m, ok := store.As[store.Maintained](k.Store)
	if !ok {
		return
	}
	k.evictAll()
	count := func() int64 {
		n, err := m.CountHeld(k.ctx)
		require.NoError(k, err)
		return n
	}
	before := count()
	held, free := k.reservation(), k.reservation()
	k.insert(held)
	k.insert(free)
	require.Equal(k, before, count())
	k.apply(held, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
	require.Equal(k, before+1, count())
	k.apply(held, store.Settlement{Outcome: store.OutcomeComplete})
	require.Equal(k, before, count())
}

func maintainPass(k *kit) {
	k.evictAll()
	rs := []store.Reservation{k.reservation(), k.reservation(), k.reservation()}
	for _, r := range rs {
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
	}
	k.Advance(retention + slack)
	e, err := store.NewEvictor(k.Store, store.EvictorOptions{BatchSize: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(k, err)
	p := e.Pass(k.ctx)
	require.NoError(k, p.Err)
	if !k.Expires { // where they have gone by themselves
		require.Equal(k, len(rs), p.Removed)
		require.Equal(k, 2, p.Batches)
	}
	_, maintained := store.As[store.Maintained](k.Store)
	require.Equal(k, maintained, p.Held != store.HeldUnknown)
	for _, r := range rs {
		k.requireMissing(r)
	}
}
