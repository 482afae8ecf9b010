package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// forever is the time to live of a key that has none.
const forever = time.Duration(-1)

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	b := setup(t, patient, nil)
	steps := func(all ...store.Settlement) []store.Settlement { return all }
	pend := store.Settlement{Outcome: store.OutcomePend, Lease: 3 * time.Hour}
	hold := store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}
	done := store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")}
	unknown := store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}
	nothing := store.Settlement{Outcome: store.OutcomeRelease}
	failed := store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("boom"), EffectPossible: true}
	declined := store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("declined"), NonRetryable: true}

	for _, c := range []struct {
		name    string
		policy  store.TakeoverPolicy
		settled []store.Settlement
		want    time.Duration
	}{
		{"a live record ends with retention", store.Reexecute, nil, time.Hour},
		{"a live record under Refuse has no end", store.Refuse, nil, forever},
		{"a live record under Verify has no end", store.Verify, nil, forever},
		{"a completed record ends with retention", store.Reexecute, steps(done), time.Hour},
		{"a completed record under Refuse ends with retention", store.Refuse, steps(done), time.Hour},
		{"a released record ends with retention", store.Reexecute, steps(unknown), time.Hour},
		{"a record released with an effect under Refuse has no end", store.Refuse, steps(unknown), forever},
		{"a record released without effect under Refuse ends with retention", store.Refuse, steps(nothing), time.Hour},
		{"a failed record ends with retention", store.Reexecute, steps(failed), time.Hour},
		{"a failure with an effect under Verify has no end", store.Verify, steps(failed), forever},
		{"a definite failure under Verify ends with retention", store.Verify, steps(declined), time.Hour},
		{"a pending record has no end", store.Reexecute, steps(pend), forever},
		{"a pending record that was completed ends with retention", store.Reexecute, steps(pend, done), time.Hour},
		{"a held record has no end", store.Reexecute, steps(hold), forever},
		{"a held record whose owner knows better ends with retention", store.Reexecute, steps(hold, nothing), time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := reservation(c.name, policy(c.policy))
			insert(t, b.store, r)
			for _, s := range c.settled {
				apply(t, b.store, settlement(r, s))
			}
			b.requireTTL(t, c.want, r)
		})
	}

	t.Run("a renewal beyond retention moves the end along, with what a restart can add", func(t *testing.T) {
		t.Parallel()
		r := reservation("renewed")
		insert(t, b.store, r)
		long := leaseOf(r)
		long.Duration = 2 * time.Hour
		_, err := b.store.Renew(t.Context(), []store.Lease{long})
		require.NoError(t, err)
		b.requireTTL(t, 4*time.Hour, r)
		apply(t, b.store, complete(r, "paid"))
		b.requireTTL(t, time.Hour, r)
	})
	t.Run("a takeover begins retention anew, by its own policy", func(t *testing.T) {
		t.Parallel()
		r := reservation("taken over")
		insert(t, b.store, r)
		apply(t, b.store, settlement(r, unknown))
		next := again(r)
		next.Retention = 5 * time.Hour
		require.Equal(t, store.ActAcquire, claim(t, b.store, next).Action)
		b.requireTTL(t, 5*time.Hour, r)
		apply(t, b.store, settlement(next, unknown))
		strict := again(r)
		strict.Policy = store.Refuse
		require.Equal(t, store.ActAcquire, claim(t, b.store, strict).Action)
		b.requireTTL(t, forever, r)
	})
}

func (b bundle) requireTTL(t *testing.T, want time.Duration, r store.Reservation) {
	t.Helper()
	got, err := b.client.PTTL(t.Context(), "dedupe:"+r.Key).Result()
	require.NoError(t, err)
	if want == forever {
		require.Equal(t, forever, got)
		return
	}
	require.LessOrEqual(t, got, want+time.Millisecond) // rounded up
	require.Greater(t, got, want-10*time.Minute)
}

func TestSettlementAfterRetention(t *testing.T) {
	t.Parallel()

	t.Run("stays for a repetition, and goes then", func(t *testing.T) {
		t.Parallel()
		b, clock := setupClock(t)
		r := reservation("k", policy(store.Refuse))
		insert(t, b.store, r)
		clock.Advance(2 * time.Hour)
		apply(t, b.store, complete(r, "paid"))
		apply(t, b.store, complete(r, "paid"))
		require.Equal(t, store.ActReplay, claim(t, b.store, again(r)).Action)
		clock.Advance(2 * time.Minute)
		_, err := b.store.Get(t.Context(), r.Key)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}
