package redisstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestPoliciesThatNeedADurableDeployment(t *testing.T) {
	t.Parallel()
	forgetful := patient
	forgetful.Durable = false
	b := setup(t, forgetful, nil)
	durable := requireStore(t, b.client, patient)

	for _, p := range []store.TakeoverPolicy{store.Refuse, store.Verify} {
		refused := func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			require.ErrorContains(t, err, "redisstore.Options.Durable")
			require.ErrorContains(t, err, `"`+string(p)+`"`)
		}
		t.Run(string(p)+" is refused at reservation, and nothing is written", func(t *testing.T) {
			t.Parallel()
			fine, r := reservation("beside "+string(p)), reservation(string(p), policy(p))
			_, err := b.store.Reserve(t.Context(), []store.Reservation{fine, r})
			refused(t, err)
			for _, key := range []string{fine.Key, r.Key} {
				_, err = b.store.Get(t.Context(), key)
				require.ErrorIs(t, err, store.ErrNotFound)
			}
		})
		t.Run(string(p)+" is refused at takeover, and nothing is written", func(t *testing.T) {
			t.Parallel()
			r := reservation("taken over under " + string(p))
			insert(t, b.store, r)
			apply(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeRelease}))
			next := again(r)
			next.Policy = p
			_, err := store.Claim(t.Context(), b.store, next)
			refused(t, err)
			_, err = b.store.Acquire(t.Context(), []store.Acquisition{{Reservation: next, SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
			refused(t, err)
			kept, err := b.store.Get(t.Context(), r.Key)
			require.NoError(t, err)
			require.Equal(t, r.Token, kept.Token)
		})
		t.Run(string(p)+" is refused before a worker starts", func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, b.store.Supports(p), "redisstore.Options.Durable")
			options := activity.Options{Store: b.store, Policies: map[string]activity.Policy{"Charge": {Takeover: store.Refuse}}}
			require.ErrorContains(t, options.Validate(), "redisstore.Options.Durable")
		})
		t.Run(string(p)+" is taken where the deployment is said to be durable", func(t *testing.T) {
			t.Parallel()
			require.NoError(t, durable.Supports(p))
			insert(t, durable, reservation("durable "+string(p), policy(p)))
		})
	}

	t.Run("a store that forgets honours the policy of a record that it meets", func(t *testing.T) {
		t.Parallel()
		r := reservation("met", policy(store.Refuse))
		insert(t, durable, r)
		apply(t, durable, settlement(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))
		require.Equal(t, store.ActUnknown, claim(t, b.store, reservation("met")).Action)
	})
	t.Run("the default policy needs nothing", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, b.store.Supports(store.Reexecute))
		insert(t, b.store, reservation("default"))
		require.NoError(t, activity.Options{Store: b.store, Policies: map[string]activity.Policy{"Charge": {}}}.Validate())
	})
}

func TestKeyPrefix(t *testing.T) {
	t.Parallel()

	t.Run("keeps two stores apart in one Redis", func(t *testing.T) {
		t.Parallel()
		b, other := setup(t, patient, nil), patient
		other.KeyPrefix = "shop:"
		s := requireStore(t, b.client, other)
		insert(t, b.store, reservation("k"))
		insert(t, s, reservation("k"))
		keys, err := b.client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"dedupe:k", "shop:k"}, keys, "the check leaves nothing behind either")
	})
	t.Run("under which something else stands is an error of its own", func(t *testing.T) {
		t.Parallel()
		b, odd := setup(t, patient, nil), patient
		odd.KeyPrefix = "odd:"
		s := requireStore(t, b.client, odd)
		require.NoError(t, b.client.Set(t.Context(), "odd:text", "x", 0).Err())
		_, err := s.Get(t.Context(), "text")
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "no record stands under the prefix")
	})
}
