package activity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// A workflow ID is used again, and the provider remembers its first life for longer
// than the records do.
func TestTheProviderKeyOfAnotherLineage(t *testing.T) {
	t.Parallel()
	first, second := call(1), call(1)
	second.RunID, second.Lineage, second.OriginalRunID = "run-9", "run-9", "run-9"
	charge := func(t *testing.T, b *bundle, facts wire.Facts, ended error) activity.ProviderKey {
		t.Helper()
		var keys []activity.ProviderKey
		_, err := runIn(b.envWith(&facts), body(&keys, ended))
		require.Equal(t, ended == nil, err == nil, "%v", err)
		require.Len(t, keys, 1)
		return keys[0]
	}
	of := func(p activity.Policy) func(*activity.Options) { return withPolicy(p) }
	business := func(f wire.Facts) wire.Facts {
		f.BusinessKey = "invoice-7"
		return f
	}

	t.Run("is another one, and that of the first stays, when their records are gone", func(t *testing.T) {
		t.Parallel()
		key := charge(t, setup(t), first, nil)
		require.Equal(t, key, charge(t, setup(t), first, nil))
		require.NotEqual(t, key, charge(t, setup(t), second, nil))
	})

	t.Run("is another one where the first left no effect", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		declined := charge(t, b, first, temporal.NewNonRetryableApplicationError("declined", "Declined", nil))
		require.False(t, b.record("1").EffectPossible)
		require.NotEqual(t, declined, charge(t, b, second, nil))
	})

	t.Run("is the first one's where that may have an effect", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		key := charge(t, b, first, errors.New("timeout"))
		replaying, err := activity.NewInterceptor(activity.Options{Store: b.store, Policies: map[string]activity.Policy{
			activity.AnyActivity: {OnOtherExecution: store.ReplayOther},
		}})
		require.NoError(t, err)
		b.interceptor = replaying
		require.Equal(t, key, charge(t, b, second, nil), "although the policy has changed")
	})

	t.Run("is the same where the workflow ID or the business key is the operation", func(t *testing.T) {
		t.Parallel()
		replay := of(activity.Policy{OnOtherExecution: store.ReplayOther})
		require.Equal(t, charge(t, setup(t, replay), first, nil), charge(t, setup(t, replay), second, nil))
		require.Equal(t, charge(t, setup(t), business(first), nil), charge(t, setup(t), business(second), nil))
	})

	t.Run("is known without a record", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b := setup(t, withStore(s), of(activity.Policy{OnStoreError: activity.RunUnprotected}))
		s.down.Store(true)
		key := charge(t, b, second, nil)
		s.down.Store(false)
		require.NoError(t, b.interceptor.Drain(context.Background()))
		require.Equal(t, key, charge(t, setup(t), second, nil))
	})

	t.Run("is another one for effects too", func(t *testing.T) {
		t.Parallel()
		var keys []activity.ProviderKey
		for _, f := range []wire.Facts{first, second} {
			_, err := runIn(setup(t).envWith(&f), func(ctx context.Context) (int, error) {
				return activity.Do(ctx, "charge", func(ctx context.Context) (int, error) {
					keys = append(keys, activity.Key(ctx))
					return 1, nil
				})
			})
			require.NoError(t, err)
		}
		require.NotEqual(t, keys[0], keys[1])
	})
}
