package redisstore_test

import (
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		b, clock := setupClock(t)
		return storetest.Harness{Store: b.store, Advance: clock.Advance, Expires: true, Close: b.store.Close}
	})
}

func TestEveryAcquiredRecordExistsWhileRedisExpiresIt(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t)
	storetest.Hammer(t, storetest.Harness{Store: b.store, Advance: clock.Advance, Expires: true}, 300)
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return setup(b, patient, nil).store
	})
}
