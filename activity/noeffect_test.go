package activity_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// The mark is for records. Where a call has none, Temporal must not see it either: it
// looks at the outermost error, and would try a declined card again for ever.
func TestTheMarkOfNoEffectNeverReachesTemporal(t *testing.T) {
	t.Parallel()
	declined := func(context.Context) error {
		return activity.NoEffect(temporal.NewNonRetryableApplicationError("declined", "Declined", nil))
	}
	exempt := call(1)
	exempt.Exempt = true
	for name, c := range map[string]struct {
		facts  wire.Facts
		policy activity.Policy
		down   bool
	}{
		"deduplicated":                  {facts: call(1)},
		"exempt":                        {facts: exempt},
		"of a type whose policy is off": {facts: call(1), policy: activity.Policy{Off: true}},
		"unprotected":                   {facts: call(1), policy: activity.Policy{OnStoreError: activity.RunUnprotected}, down: true},
	} {
		t.Run("of a call that is "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := unreliable(t)
				s.down.Store(c.down)
				b := setup(t, withStore(s), withPolicy(c.policy))
				_, err := runIn(b.envWith(&c.facts), declined)
				require.True(t, requireErrType(t, err, "Declined").NonRetryable())
				require.NoError(t, b.interceptor.Drain(t.Context()))
			})
		})
	}
}

func TestTheMarkOfNoEffectReachesWhoKeepsTheRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inner, err := activity.NewInterceptor(activity.Options{Store: b.store, Policies: map[string]activity.Policy{activity.AnyActivity: {}}})
	require.NoError(t, err)
	facts := call(1)
	env := b.envWith(&facts)
	o := workerOptions(b, context.Background())
	o.Interceptors = append(o.Interceptors, inner)
	env.SetWorkerOptions(o)
	_, err = runIn(env, func(context.Context) error {
		return activity.NoEffect(temporal.NewNonRetryableApplicationError("declined", "Declined", nil))
	})
	require.True(t, requireErrType(t, err, "Declined").NonRetryable())
	require.False(t, b.record("1").EffectPossible)
	require.Equal(t, 1, moved(b.record("1")), "the provider sees a new key")
}
