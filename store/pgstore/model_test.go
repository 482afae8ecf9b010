package pgstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// The memory store is the model: whatever several owners and operators do, with
// answers lost and the clock stepped, Postgres answers and remembers the same.
func TestPostgresDoesWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	b, advance := setupClock(t)
	h := storetest.Harness{Store: b.store, Admin: b.store.Admin(), Advance: advance}
	storetest.Model(t, h, func(now func() time.Time) storetest.Harness {
		s, err := memstore.New(memstore.Options{Now: now})
		require.NoError(t, err)
		return storetest.Harness{Store: s, Admin: s.Admin()}
	})
}
