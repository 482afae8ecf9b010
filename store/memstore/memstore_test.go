package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still until it is told otherwise.
type clock struct{ passed atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(c.passed.Load()))
}

func (c *clock) Advance(d time.Duration) { c.passed.Add(int64(d)) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		h := harness(t, 0)
		h.Bounded = harness
		return h
	})
}

func harness(t *testing.T, records int) storetest.Harness {
	c := &clock{}
	s := newStore(t, memstore.Options{MaxRecords: records, Now: c.Now})
	return storetest.Harness{Store: s, Advance: c.Advance, Close: s.Close}
}

// Stores elsewhere have clocks that run, and the same tests must hold for them.
func TestStoreWithAClockThatRuns(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		c := &clock{}
		s := newStore(t, memstore.Options{Now: func() time.Time {
			return time.Now().Add(time.Duration(c.passed.Load()))
		}})
		return storetest.Harness{Store: s, Advance: c.Advance}
	})
}

func newStore(t testing.TB, o memstore.Options) *memstore.Store {
	t.Helper()
	s, err := memstore.New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return newStore(b, memstore.Options{MaxRecords: 300_000})
	})
}

func TestHammer(t *testing.T) {
	t.Parallel()

	t.Run("hundreds of evictions under 64 callers lose no record", func(t *testing.T) {
		t.Parallel()
		c := &clock{}
		s := newStore(t, memstore.Options{Now: c.Now})
		storetest.Hammer(t, storetest.Harness{Store: s, Advance: c.Advance}, 500)
	})
}
