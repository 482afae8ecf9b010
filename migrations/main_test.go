package migrations_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(localpgtest.StopAfter(m),
		// golang-migrate reads the next files ahead, and forgets the readers
		// when the first one fails.
		goleak.IgnoreAnyFunction("github.com/golang-migrate/migrate/v4.(*Migration).Buffer"),
	)
}
