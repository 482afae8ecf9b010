package pgstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(localpgtest.StopAfter(m)) }
