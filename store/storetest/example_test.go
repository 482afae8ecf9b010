package storetest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// Who writes a store tests it like this, with a constructor of their own in place of
// memstore.New. The test moves the store's clock, so that no lease is waited for.
func ExampleRun() {
	harness := func(t *testing.T) storetest.Harness {
		var shift atomic.Int64
		s, err := memstore.New(memstore.Options{
			Now: func() time.Time { return time.Now().Add(time.Duration(shift.Load())) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return storetest.Harness{
			Store:   s,
			Advance: func(d time.Duration) { shift.Add(int64(d)) },
			Close:   s.Close,
		}
	}
	testStore := func(t *testing.T) { storetest.Run(t, harness) } // func TestStore
	_ = testStore
}
