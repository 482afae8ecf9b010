package pgstore_test

import (
	"os"
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// soakVar makes tests that look for rare races go on for minutes: make soak.
const soakVar = "DEDUPE_SOAK"

func TestEveryAcquiredRecordExistsWhileAnEvictorDeletesIt(t *testing.T) {
	t.Parallel()
	evictions := 50
	if os.Getenv(soakVar) != "" {
		evictions = 1_000
	}
	b, advance := setupClock(t)
	storetest.Hammer(t, storetest.Harness{Store: b.store, Advance: advance}, evictions)
}
