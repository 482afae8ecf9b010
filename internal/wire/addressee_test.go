package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

func TestForActivity(t *testing.T) {
	t.Parallel()
	require.NoError(t, wire.ForActivity(charge(), "order-42"))
	require.ErrorIs(t, wire.ForActivity(charge(), "order-43"), wire.ErrNotAddressed)

	f := charge()
	f.To = wire.ToChild
	require.ErrorIs(t, wire.ForActivity(f, "order-42"), wire.ErrNotAddressed)
}

func TestForContinuation(t *testing.T) {
	t.Parallel()
	f := wire.Facts{To: wire.ToContinuation, WorkflowID: "order-42", RunID: "run-1"}

	for name, tc := range map[string]struct {
		workflowID, continuedRunID string
		attempt                    int32
		ok                         bool
	}{
		"AcceptsTheRunThatContinuesTheWriter":     {"order-42", "run-1", 1, true},
		"RefusesAnotherWorkflow":                  {"order-43", "run-1", 1, false},
		"RefusesARunThatContinuesAnother":         {"order-42", "run-2", 1, false},
		"RefusesAFreshRun":                        {"order-42", "", 1, false},
		"AcceptsARetryOfTheRunThatContinuedIt":    {"order-42", "run-2", 2, true},
		"RefusesARetryOfAnotherWorkflow":          {"order-43", "run-2", 2, false},
		"AcceptsAnAttemptThatTestsLeaveAtZeroToo": {"order-42", "run-1", 0, true},
		"RefusesAnAttemptOfZeroForAnotherRun":     {"order-42", "run-2", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := wire.ForContinuation(f, tc.workflowID, tc.continuedRunID, tc.attempt)
			if tc.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, wire.ErrNotAddressed)
		})
	}

	t.Run("RefusesAnotherKind", func(t *testing.T) {
		t.Parallel()
		require.ErrorIs(t, wire.ForContinuation(charge(), "order-42", "run-1", 1), wire.ErrNotAddressed)
	})
}

func TestForChild(t *testing.T) {
	t.Parallel()
	f := wire.Facts{To: wire.ToChild, WorkflowID: "order-42", RunID: "run-1"}
	require.NoError(t, wire.ForChild(f, "order-42"))
	require.ErrorIs(t, wire.ForChild(f, "order-43"), wire.ErrNotAddressed)
	require.ErrorIs(t, wire.ForChild(f, ""), wire.ErrNotAddressed)
	require.ErrorIs(t, wire.ForChild(charge(), "order-42"), wire.ErrNotAddressed)
}
