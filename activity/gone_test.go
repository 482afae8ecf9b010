package activity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// A database that was restored from a backup has no record of a call that is under way,
// and nothing that keeps the next attempt from running the body.
func TestARecordThatIsGoneWhenTheBodyFails(t *testing.T) {
	t.Parallel()
	lost := temporal.NewApplicationError("connection reset", "Lost")
	verifier := func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
		return activity.NotDone(), nil
	}
	for name, c := range map[string]struct {
		policy activity.Policy
		err    error
		want   string
	}{
		"is an unknown outcome under Refuse":               {activity.Policy{Takeover: store.Refuse}, lost, activity.ErrTypeOutcomeUnknown},
		"is an unknown outcome under Verify":               {activity.Policy{Takeover: store.Verify, Verify: verifier}, lost, activity.ErrTypeOutcomeUnknown},
		"is the body's failure under Reexecute":            {activity.Policy{}, lost, "Lost"},
		"is the body's failure where it had no effect":     {activity.Policy{Takeover: store.Refuse}, activity.NoEffect(lost), "Lost"},
		"is the body's failure where that is its author's": {activity.Policy{Takeover: store.Refuse}, temporal.NewNonRetryableApplicationError("no", "Declined", nil), "Declined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, err := memstore.New(memstore.Options{})
			require.NoError(t, err)
			b := setup(t, withStore(&altered{Store: memory, settled: store.SettledMissing}), withPolicy(c.policy))
			_, err = b.run(1, func(context.Context) error { return c.err })
			app := requireErrType(t, err, c.want)
			require.Equal(t, c.want != "Lost", app.NonRetryable())
		})
	}
	t.Run("does not matter to a body that succeeds", func(t *testing.T) {
		t.Parallel()
		memory, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		b := setup(t, withStore(&altered{Store: memory, settled: store.SettledMissing}), withPolicy(activity.Policy{Takeover: store.Refuse}))
		_, err = b.run(1, func(context.Context) error { return nil })
		require.NoError(t, err)
	})
}
