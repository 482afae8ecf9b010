package redisstore_test

import (
	"os"
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// soakVar makes tests that look for rare races go on for minutes.
const soakVar = "DEDUPE_SOAK"

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		b, clock := setupClock(t)
		return storetest.Harness{Store: b.store, Advance: clock.Advance, Expires: true, Close: b.store.Close}
	})
}

func TestEveryAcquiredRecordExistsWhileRedisExpiresIt(t *testing.T) {
	t.Parallel()
	expiries := 50
	if os.Getenv(soakVar) != "" {
		expiries = 1_000
	}
	b, clock := setupClock(t)
	storetest.Hammer(t, storetest.Harness{Store: b.store, Advance: clock.Advance, Expires: true}, expiries)
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return setup(b, patient, nil).store
	})
}
