package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newClaimer(t *testing.T, s store.Store, r store.Reservation) *store.Claimer {
	t.Helper()
	c, err := store.NewClaimer(s, r)
	require.NoError(t, err)
	return c
}

// lostReserve and lostAcquire bring a claimer to where its first answer is
// missing although the record is its own; effect is what stood in the record
// before.
func lostReserve(t *testing.T, s *stub) (c *store.Claimer, r store.Reservation) {
	t.Helper()
	r = reservation()
	s.reserve = first(1, loses(s.Store.Reserve), s.Store.Reserve)
	c = newClaimer(t, s, r)
	_, err := c.Claim(t.Context())
	require.ErrorIs(t, err, errLost)
	return c, r
}

func lostAcquire(t *testing.T, s *stub, effect bool) (c *store.Claimer, r store.Reservation) {
	t.Helper()
	released(t, s, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: effect})
	r = reservation()
	s.acquire = first(1, loses(s.Store.Acquire), s.Store.Acquire)
	c = newClaimer(t, s, r)
	_, err := c.Claim(t.Context())
	require.ErrorIs(t, err, errLost)
	return c, r
}

func TestClaimerClaimsAgain(t *testing.T) {
	t.Parallel()

	t.Run("after a lost reservation the record is its own and new", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		c, r := lostReserve(t, s)
		claimed, err := c.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, claimed.Action)
		require.Zero(t, claimed.Found)
		requireOwned(t, s, r, claimed)
		require.Equal(t, []int{2, 0, 0, 0}, s.calls())
	})

	t.Run("after a lost acquisition it knows what it took over", func(t *testing.T) {
		t.Parallel()
		for _, effect := range []bool{false, true} {
			s := newStub(t)
			c, r := lostAcquire(t, s, effect)
			claimed, err := c.Claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, store.ActAcquire, claimed.Action)
			require.Equal(t, effect, claimed.EffectPossible())
			requireOwned(t, s, r, claimed)
			require.Equal(t, []int{2, 1, 0, 0}, s.calls())
		}
	})

	t.Run("a lease that has run down is renewed before the body runs", func(t *testing.T) {
		t.Parallel()
		for _, passed := range []time.Duration{31 * time.Second, time.Hour} {
			s := newStub(t)
			c, r := lostReserve(t, s)
			s.passed = passed
			claimed, err := c.Claim(t.Context())
			require.NoError(t, err)
			requireOwned(t, s, r, claimed)
			rec, err := s.Get(t.Context(), r.Key)
			require.NoError(t, err)
			require.Equal(t, r.Lease, rec.LeaseLeft)
			require.Equal(t, 1, s.renewals)
		}
	})

	t.Run("a record that was taken over meanwhile is decided upon", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		c, r := lostReserve(t, s)
		s.passed = time.Hour
		s.renew = func(ctx context.Context, all []store.Lease) ([]store.Renewal, error) {
			if _, err := store.Claim(ctx, s.Store, reservation()); err != nil {
				return nil, err
			}
			return s.Store.Renew(ctx, all)
		}
		claimed, err := c.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.ActWait, claimed.Action)
		require.NotEqual(t, r.Token, claimed.Found.Token)
		require.Zero(t, claimed.Lease)
	})

	t.Run("an acquisition that is carried out late is its own, whatever was decided meanwhile", func(t *testing.T) {
		t.Parallel()
		for _, policy := range []store.TakeoverPolicy{store.Reexecute, store.Verify} {
			s := newStub(t)
			owner := reservation(func(r *store.Reservation) { r.Policy = policy })
			_, err := s.Store.Reserve(t.Context(), []store.Reservation{owner})
			require.NoError(t, err)
			s.passed = time.Hour
			var late []store.Acquisition
			s.acquire = func(_ context.Context, all []store.Acquisition) ([]store.Acquired, error) {
				late = all
				return nil, errLost
			}
			r := reservation()
			c := newClaimer(t, s, r)
			_, err = c.Claim(t.Context())
			require.ErrorIs(t, err, errLost)

			renewed, err := s.Store.Renew(t.Context(), []store.Lease{{Key: owner.Key, Token: owner.Token, Duration: owner.Lease}})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseRenewed}, renewed)
			claimed, err := c.Claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, store.ActWait, claimed.Action)
			require.Zero(t, claimed.Lease)

			s.passed = 2 * time.Hour
			acquired, err := s.Store.Acquire(t.Context(), late)
			require.NoError(t, err)
			require.True(t, acquired[0].OK)
			claimed, err = c.Claim(t.Context())
			require.NoError(t, err)
			want := store.ActAcquire
			if policy == store.Verify {
				want = store.ActVerify
			}
			require.Equal(t, want, claimed.Action)
			require.Equal(t, owner.Token, claimed.Found.Token)
			requireOwned(t, s, r, claimed)
		}
	})

	t.Run("a record that was evicted meanwhile is reserved again", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		c, r := lostAcquire(t, s, true)
		s.passed = 2 * r.Retention
		_, err := s.Evict(t.Context(), 1)
		require.NoError(t, err)
		claimed, err := c.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, claimed.Action)
		require.False(t, claimed.EffectPossible())
		requireOwned(t, s, r, claimed)
	})

	t.Run("a reservation that is not valid makes no claimer", func(t *testing.T) {
		t.Parallel()
		_, err := store.NewClaimer(newStub(t), store.Reservation{})
		requireInvalid(t, err, "Key")
	})
}

func TestClaimerOrphan(t *testing.T) {
	t.Parallel()

	// requireReleased settles the orphan and requires that the next claim finds
	// what stood there before.
	requireReleased := func(t *testing.T, s *stub, c *store.Claimer, effect bool) {
		t.Helper()
		orphan, doubt := c.Orphan()
		require.True(t, doubt)
		require.NoError(t, orphan.Validate())
		got, err := s.Store.Settle(t.Context(), []store.Settlement{orphan})
		require.NoError(t, err)
		require.Equal(t, store.SettledApplied, got[0])
		next, err := store.Claim(t.Context(), s.Store, reservation())
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, next.Action)
		require.Equal(t, effect, next.EffectPossible())
	}

	t.Run("a lost reservation is released without an effect", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		c, _ := lostReserve(t, s)
		requireReleased(t, s, c, false)
	})

	t.Run("a lost acquisition is released with the effect that was possible before", func(t *testing.T) {
		t.Parallel()
		for _, effect := range []bool{false, true} {
			s := newStub(t)
			c, _ := lostAcquire(t, s, effect)
			requireReleased(t, s, c, effect)
		}
	})

	t.Run("a record that is its own but locked by somebody is released", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		c, r := lostReserve(t, s)
		s.passed = r.Lease
		s.renew = func(context.Context, []store.Lease) ([]store.Renewal, error) {
			return []store.Renewal{store.LeaseLocked}, nil
		}
		_, err := c.Claim(t.Context())
		require.ErrorIs(t, err, store.ErrContended)
		requireReleased(t, s, c, false)
	})

	t.Run("an acquisition without an answer may come late, as long as the record is as it was", func(t *testing.T) {
		t.Parallel()
		for _, settles := range []bool{false, true} {
			s := newStub(t)
			owner := reservation()
			_, err := s.Store.Reserve(t.Context(), []store.Reservation{owner})
			require.NoError(t, err)
			s.passed = time.Hour
			s.acquire = func(context.Context, []store.Acquisition) ([]store.Acquired, error) { return nil, errLost }
			c := newClaimer(t, s, reservation())
			_, err = c.Claim(t.Context())
			require.ErrorIs(t, err, errLost)
			_, err = s.Store.Renew(t.Context(), []store.Lease{{Key: owner.Key, Token: owner.Token, Duration: owner.Lease}})
			require.NoError(t, err)
			if settles {
				_, err = s.Store.Settle(t.Context(), []store.Settlement{{Key: owner.Key, Token: owner.Token, Outcome: store.OutcomeComplete}})
				require.NoError(t, err)
			}
			_, err = c.Claim(t.Context())
			require.NoError(t, err)
			_, doubt := c.Orphan()
			require.Equal(t, !settles, doubt)
		}
	})

	t.Run("another's record is not touched by it", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.reserve = func(context.Context, []store.Reservation) ([]store.Found, error) { return nil, errLost }
		c := newClaimer(t, s, reservation())
		_, err := c.Claim(t.Context())
		require.ErrorIs(t, err, errLost)
		owner := reservation()
		_, err = s.Store.Reserve(t.Context(), []store.Reservation{owner})
		require.NoError(t, err)
		orphan, doubt := c.Orphan()
		require.True(t, doubt)
		got, err := s.Store.Settle(t.Context(), []store.Settlement{orphan})
		require.NoError(t, err)
		require.Equal(t, store.SettledStale, got[0])
	})

	t.Run("there is none where the answer is known", func(t *testing.T) {
		t.Parallel()
		none := func(c *store.Claimer) {
			t.Helper()
			_, doubt := c.Orphan()
			require.False(t, doubt)
		}
		c := newClaimer(t, newStub(t), reservation())
		none(c)
		_, err := c.Claim(t.Context())
		require.NoError(t, err)
		none(c) // its own, and it knows

		for _, found := range []store.Record{record(), record(completed), record(late, refuse, held)} {
			s := newStub(t)
			s.finds(found)
			c = newClaimer(t, s, reservation())
			_, err = c.Claim(t.Context())
			require.NoError(t, err)
			none(c)
		}

		s := newStub(t)
		s.finds(record(func(r *store.Record) { r.Version = store.RecordVersion + 1 }))
		c = newClaimer(t, s, reservation())
		_, err = c.Claim(t.Context())
		require.ErrorIs(t, err, store.ErrRecordVersion)
		none(c)

		s = newStub(t)
		c, _ = lostReserve(t, s)
		_, err = c.Claim(t.Context())
		require.NoError(t, err)
		none(c) // the doubt is over
	})
}
