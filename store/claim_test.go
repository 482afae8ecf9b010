package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// released leaves a record behind that the next claim acquires, and answers
// with its reservation.
func released(t *testing.T, s *stub, settlement store.Settlement) store.Reservation {
	t.Helper()
	r := reservation()
	_, err := s.Store.Reserve(t.Context(), []store.Reservation{r})
	require.NoError(t, err)
	settlement.Key, settlement.Token = r.Key, r.Token
	got, err := s.Store.Settle(t.Context(), []store.Settlement{settlement})
	require.NoError(t, err)
	require.Equal(t, store.SettledApplied, got[0])
	return r
}

func requireOwned(t *testing.T, s *stub, r store.Reservation, c store.Claimed) {
	t.Helper()
	require.Equal(t, store.Lease{Key: r.Key, Token: r.Token, Duration: r.Lease}, c.Lease)
	rec, err := s.Get(t.Context(), r.Key)
	require.NoError(t, err)
	require.Equal(t, r.Token, rec.Token)
	require.True(t, rec.LeaseLive())
}

func TestClaimRoundTrips(t *testing.T) {
	t.Parallel()

	t.Run("a new key takes one call", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Zero(t, c.Found)
		requireOwned(t, s, r, c)
		require.Equal(t, []int{1, 0, 0, 0}, s.calls())
	})

	t.Run("a replay takes one call", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte("paid")})
		c, err := store.Claim(t.Context(), s, reservation())
		require.NoError(t, err)
		require.Equal(t, store.ActReplay, c.Action)
		require.Equal(t, []byte("paid"), c.Found.Result)
		require.Equal(t, []int{1, 0, 0, 0}, s.calls())
	})

	t.Run("a takeover takes two, and names what it saw", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		before := released(t, s, store.Settlement{Outcome: store.OutcomeRelease, NewGeneration: true})
		r := reservation()
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Equal(t, before.Token, c.Found.Token)
		require.False(t, c.EffectPossible())
		require.Equal(t, 1, c.Generation)
		requireOwned(t, s, r, c)
		require.Equal(t, []int{1, 1, 0, 0}, s.calls())
	})

	t.Run("the effect of an earlier owner is remembered", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})
		c, err := store.Claim(t.Context(), s, reservation())
		require.NoError(t, err)
		require.True(t, c.EffectPossible())
	})

	t.Run("a loser makes no call that writes", func(t *testing.T) {
		t.Parallel()
		for _, found := range []store.Record{
			record(), record(completed), record(pending), record(otherLineage), record(completed, otherArgs),
			record(failed, noEffect, nonRetryable), record(late, held),
		} {
			s := newStub(t)
			s.finds(found)
			c, err := store.Claim(t.Context(), s, reservation())
			require.NoError(t, err)
			require.Equal(t, found, c.Found)
			require.Zero(t, c.Lease)
			require.Equal(t, []int{1, 0, 0, 0}, s.calls(), "%v", c.Action)
		}
	})
}

func TestClaimHolds(t *testing.T) {
	t.Parallel()

	answers := func(answer store.Settled) func(context.Context, []store.Settlement) ([]store.Settled, error) {
		return func(context.Context, []store.Settlement) ([]store.Settled, error) {
			return []store.Settled{answer}, nil
		}
	}

	t.Run("an unknown outcome is held for an operator", func(t *testing.T) {
		t.Parallel()
		s, found := newStub(t), record(late, refuse)
		s.finds(found)
		var asked []store.Settlement
		s.settle = func(_ context.Context, all []store.Settlement) ([]store.Settled, error) {
			asked = all
			return []store.Settled{store.SettledApplied}, nil
		}
		c, err := store.Claim(t.Context(), s, reservation())
		require.NoError(t, err)
		require.Equal(t, store.ActUnknown, c.Action)
		require.Equal(t, []store.Settlement{{Key: found.Key, Token: found.Token, Outcome: store.OutcomeHold}}, asked)
	})

	t.Run("one that somebody is at work on is in flight, and leaves nothing to release", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.finds(record(late, refuse))
		s.settle = func(context.Context, []store.Settlement) ([]store.Settled, error) { return nil, store.ErrContended }
		c, err := store.NewClaimer(s, reservation())
		require.NoError(t, err)
		got, err := c.Claim(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.ActWait, got.Action)
		_, doubt := c.Orphan()
		require.False(t, doubt)
	})

	t.Run("a record that changed meanwhile is decided again", func(t *testing.T) {
		t.Parallel()
		for _, answer := range []store.Settled{store.SettledStale, store.SettledMissing} {
			s := newStub(t)
			found := []store.Record{record(late, refuse), record(completed)}
			s.reserve = func(context.Context, []store.Reservation) ([]store.Found, error) {
				return []store.Found{{Exists: true, Record: found[s.reserves-1]}}, nil
			}
			s.settle = answers(answer)
			c, err := store.Claim(t.Context(), s, reservation())
			require.NoError(t, err)
			require.Equal(t, store.ActReplay, c.Action)
			require.Equal(t, found[1], c.Found)
		}
	})

	t.Run("a hold that never takes is contended", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.finds(record(late, refuse))
		s.settle = answers(store.SettledStale)
		_, err := store.Claim(t.Context(), s, reservation())
		require.ErrorIs(t, err, store.ErrContended)
		require.Equal(t, 16, s.settles)
	})

	t.Run("a hold that fails leaves nothing to release", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.finds(record(late, refuse))
		s.settle = func(context.Context, []store.Settlement) ([]store.Settled, error) { return nil, errLost }
		c, err := store.Claim(t.Context(), s, reservation())
		require.ErrorIs(t, err, errLost)
		require.Zero(t, c)
	})
}

func TestClaimLostAnswers(t *testing.T) {
	t.Parallel()

	t.Run("a reservation that a store repeats is recognised by its token", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		s.reserve = twice(s.Store.Reserve)
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Zero(t, c.Found)
		require.False(t, c.EffectPossible())
		requireOwned(t, s, r, c)
	})

	t.Run("an acquisition that a store repeats is recognised by its token", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		before := released(t, s, store.Settlement{Outcome: store.OutcomeFail, EffectPossible: true})
		s.acquire = twice(s.Store.Acquire)
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Equal(t, before.Token, c.Found.Token)
		require.True(t, c.EffectPossible())
		requireOwned(t, s, r, c)
		require.Equal(t, 1, s.acquires)
	})

	t.Run("so is one that is to be verified", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		found := record(late, verify)
		own := record(verify, func(r *store.Record) { r.Acquisitions, r.LeaseLeft = 2, time.Minute })
		own.Token = r.Token
		answers := []store.Record{found, own}
		s.reserve = func(context.Context, []store.Reservation) ([]store.Found, error) {
			return []store.Found{{Exists: true, Record: answers[s.reserves-1]}}, nil
		}
		s.acquire = misses
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActVerify, c.Action)
		require.Equal(t, found, c.Found)
		require.Equal(t, r.Token, c.Lease.Token)
	})

	t.Run("a key that was evicted under an acquisition and inserted twice is new", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		gone := record(late)
		s.reserve = first(1, func(context.Context, []store.Reservation) ([]store.Found, error) {
			return []store.Found{{Exists: true, Record: gone}}, nil
		}, twice(s.Store.Reserve))
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Zero(t, c.Found)
		requireOwned(t, s, r, c)
	})

	t.Run("a token that another claim took over with is refused", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true})
		r := reservation()
		_, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		_, err = store.Claim(t.Context(), s, r)
		requireInvalid(t, err, "Token")
	})

	t.Run("a token whose execution has ended does not run again", func(t *testing.T) {
		t.Parallel()
		for _, s := range []store.Settlement{{Outcome: store.OutcomeComplete}, {Outcome: store.OutcomeFail}} {
			stub := newStub(t)
			_, err := store.Claim(t.Context(), stub, released(t, stub, s))
			requireInvalid(t, err, "Token")
		}
	})
}

func TestClaimContention(t *testing.T) {
	t.Parallel()

	t.Run("a key evicted between insert and read is reserved again", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		s.reserve = first(15, evicted, s.Store.Reserve)
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		require.Equal(t, store.ActAcquire, c.Action)
		requireOwned(t, s, r, c)
	})

	t.Run("a key evicted again and again is contended", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.reserve = evicted
		_, err := store.Claim(t.Context(), s, reservation())
		require.ErrorIs(t, err, store.ErrContended)
		require.ErrorContains(t, err, reservation().Key)
		require.Equal(t, 16, s.reserves)
	})

	t.Run("an acquisition that misses is decided again", func(t *testing.T) {
		t.Parallel()
		s, r := newStub(t), reservation()
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease})
		s.acquire = first(15, misses, s.Store.Acquire)
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		requireOwned(t, s, r, c)
	})

	t.Run("an acquisition that always misses is contended", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease})
		s.acquire = misses
		_, err := store.Claim(t.Context(), s, reservation())
		require.ErrorIs(t, err, store.ErrContended)
		require.Equal(t, []int{16, 16, 0, 0}, s.calls())
	})

	t.Run("whoever was faster is waited for", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease})
		s.acquire = func(ctx context.Context, _ []store.Acquisition) ([]store.Acquired, error) {
			s.acquire = s.Store.Acquire
			_, err := store.Claim(ctx, s.Store, reservation())
			return make([]store.Acquired, 1), err
		}
		c, err := store.Claim(t.Context(), s, reservation())
		require.NoError(t, err)
		require.Equal(t, store.ActWait, c.Action)
		require.Zero(t, c.Lease)
	})
}

func TestClaimRefuses(t *testing.T) {
	t.Parallel()

	t.Run("a record of a later release, whatever it says", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(*store.Record){late, completed, failed} {
			s := newStub(t)
			s.finds(record(change, func(r *store.Record) { r.Version = store.RecordVersion + 1 }))
			c, err := store.Claim(t.Context(), s, reservation())
			require.ErrorIs(t, err, store.ErrRecordVersion)
			require.ErrorContains(t, err, "upgrade this worker")
			require.Zero(t, c)
			require.Equal(t, []int{1, 0, 0, 0}, s.calls())
		}
	})

	t.Run("a reservation that is not valid, before any call", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		_, err := store.Claim(t.Context(), s, reservation(func(r *store.Reservation) { r.Key = "" }))
		requireInvalid(t, err, "Key")
		require.Zero(t, s.reserves)
	})

	t.Run("a store that does not answer what it was asked", func(t *testing.T) {
		t.Parallel()
		s := newStub(t)
		s.reserve = func(context.Context, []store.Reservation) ([]store.Found, error) { return nil, nil }
		_, err := store.Claim(t.Context(), s, reservation())
		require.ErrorContains(t, err, "0 answers")

		s = newStub(t)
		released(t, s, store.Settlement{Outcome: store.OutcomeRelease})
		s.acquire = func(context.Context, []store.Acquisition) ([]store.Acquired, error) {
			return make([]store.Acquired, 2), nil
		}
		_, err = store.Claim(t.Context(), s, reservation())
		require.ErrorContains(t, err, "2 answers")
	})

	t.Run("nothing of a cancelled context but its error", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newStub(t)
		_, err := store.Claim(ctx, s, reservation())
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Get(t.Context(), reservation().Key)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}
