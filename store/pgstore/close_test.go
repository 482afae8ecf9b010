package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestCallsUnderWayWhenTheStoreIsClosedEndWithWordOfIt(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		b := setup(t, pgstore.Options{CallTimeout: 10 * time.Second})
		var all sync.WaitGroup
		inserted := make([][]string, 16)
		for n := range 16 {
			all.Go(func() {
				for j := 0; ; j++ {
					key := fmt.Sprintf("%d %d", n, j)
					found, err := b.store.Reserve(context.Background(), []store.Reservation{reservation(key)})
					if err != nil {
						if !errors.Is(err, store.ErrClosed) {
							t.Errorf("%v", err)
						}
						return
					}
					if found[0].Inserted {
						inserted[n] = append(inserted[n], key)
					}
				}
			})
		}
		<-time.After(time.Duration(20+i*20) * time.Millisecond)
		b.store.Close()
		all.Wait()
		total := 0
		for _, k := range inserted {
			total += len(k)
		}
		require.GreaterOrEqual(t, value[int](t, b.pool, `SELECT count(*) FROM idempotency_records`), total)
	}
}
