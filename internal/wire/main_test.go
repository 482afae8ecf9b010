package wire_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chain is a count of continuations.
func chain(k int) *int { return &k }

// charge is the header of an ordinary call.
func charge() wire.Facts {
	return wire.Facts{
		Version: wire.Version, To: wire.ToActivity, WorkflowID: "order-42", RunID: "run-1",
		Lineage: "run-1", OriginalRunID: "run-1", Execution: "run-1", Chain: chain(0), Number: 2,
	}
}
