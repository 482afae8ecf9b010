package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// The memory store is the model: whatever several owners do, with answers lost
// and the clock stepped, Redis answers and remembers the same, and removes nothing
// that the memory store would keep.
func TestRedisDoesWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t)
	storetest.Model(t, storetest.Harness{Store: b.store, Advance: clock.Advance, Expires: true}, func(now func() time.Time) storetest.Harness {
		s, err := memstore.New(memstore.Options{Now: now})
		require.NoError(t, err)
		return storetest.Harness{Store: s}
	})
}
