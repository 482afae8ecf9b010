package activity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// takeOver gives the record of the first call to another owner, as after a lease
// that ran out, and returns its reservation.
func (b *bundle) takeOver() store.Reservation {
	b.t.Helper()
	r := b.record("1")
	settled, err := b.store.Settle(context.Background(), []store.Settlement{
		{Key: r.Key, Token: r.Token, Outcome: store.OutcomeRelease, EffectPossible: true}})
	require.NoError(b.t, err)
	require.Equal(b.t, []store.Settled{store.SettledApplied}, settled)
	heir := store.Reservation{Key: r.Key, Hashes: []string{r.Hash}, Token: store.NewToken(), Lease: time.Minute, Retention: time.Hour,
		Policy: store.Reexecute, Origin: store.Origin{Lineage: r.Lineage, Invocation: r.Invocation}}
	got, err := b.store.Acquire(context.Background(), []store.Acquisition{{Reservation: heir, SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
	require.NoError(b.t, err)
	require.True(b.t, got[0].OK)
	return heir
}

func TestDoOwner(t *testing.T) {
	t.Parallel()

	t.Run("an activity that has lost its record begins no effect, and hears why", func(t *testing.T) {
		t.Parallel()
		b, f := setup(t), &effects{}
		_, err := b.run(1, func(ctx context.Context) (string, error) {
			heir := b.takeOver()
			_, err := f.do(ctx, "charge")
			require.ErrorIs(t, err, activity.ErrLeaseLost)
			_, err2 := b.store.Settle(ctx, []store.Settlement{{Key: heir.Key, Token: heir.Token, Outcome: store.OutcomeComplete, Result: []byte{}}})
			require.NoError(t, err2)
			return "", err
		})
		require.NoError(t, err, "the heir's result is the answer")
		require.Zero(t, f.made)
		_, err = b.store.Get(t.Context(), "wd/default-test-namespace/"+workflowID+"/0/Charge/1/charge")
		require.ErrorIs(t, err, store.ErrNotFound, "nothing was written")
	})

	t.Run("an effect that was out when the record was lost is known to the heir", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, f := setup(t), &effects{}
			// Its own token still stands, and tells the heir what it would otherwise
			// repeat; but the stale execution gets no answer.
			_, err := b.run(1, func(ctx context.Context) error {
				_, err := activity.Do(ctx, "charge", func(ctx context.Context) (string, error) {
					heir := b.takeOver()
					<-ctx.Done()
					require.ErrorIs(t, context.Cause(ctx), activity.ErrLeaseLost)
					f.made++
					_, err := b.store.Settle(context.WithoutCancel(ctx), []store.Settlement{{Key: heir.Key, Token: heir.Token, Outcome: store.OutcomeRelease, EffectPossible: true}})
					return "receipt 1", err
				})
				require.ErrorIs(t, err, activity.ErrLeaseLost)
				return err
			})
			requireErrType(t, err, activity.ErrTypeLeaseLost)
			require.Equal(t, store.StatusCompleted, b.effect("charge").Status)
			_, err = b.run(1, func(ctx context.Context) error { _, err := f.do(ctx, "charge"); return err })
			require.NoError(t, err)
			require.Equal(t, 1, f.made)
			require.Equal(t, []string{"receipt 1"}, f.saw)
		})
	})

	t.Run("the leases of an effect and of its activity are kept while it is made", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t)
			env := b.env(1)
			env.SetTestTimeout(time.Hour)
			_, err := runIn(env, func(ctx context.Context) error {
				_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) {
					for range 20 { // ten leases
						time.Sleep(15 * time.Second) //nolint:forbidigo // fake clock
						for _, key := range []string{b.record("1").Key, b.effect("charge").Key} {
							r, err := b.store.Get(context.Background(), key)
							require.NoError(t, err)
							require.True(t, r.LeaseLive())
						}
					}
					return 1, nil
				})
				return err
			})
			require.NoError(t, err)
		})
	})

	t.Run("effects that begin at once share a look at the lease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &slow{Store: setup(t).store}
			b := setup(t, withStore(s))
			_, err := b.run(1, func(ctx context.Context) error {
				var all sync.WaitGroup
				errs := make([]error, 10)
				for i := range errs {
					all.Go(func() {
						_, errs[i] = activity.Do(ctx, fmt.Sprint("item ", i), func(context.Context) (int, error) { return i, nil })
					})
				}
				all.Wait()
				return errors.Join(errs...)
			})
			require.NoError(t, err)
			require.EqualValues(t, 2, s.renewals.Load(), "the first one's, and one for all that came meanwhile")
		})
	})

	t.Run("a store that comes back in time delays an effect, and no more", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := unreliable(t)
			b, f := setup(t, withStore(s), withPolicy(activity.Policy{Takeover: store.Refuse})), &effects{}
			_, err := b.run(1, func(ctx context.Context) error {
				s.down.Store(true)
				time.AfterFunc(5*time.Second, func() { s.down.Store(false) })
				_, err := f.do(ctx, "charge")
				return err
			})
			require.NoError(t, err)
			require.Equal(t, 1, f.made)
		})
	})

	t.Run("a store that stays away is tried again later, and is no outcome", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, f := setup(t, withStore(s), withPolicy(activity.Policy{WaitLimit: time.Millisecond})), &effects{}
		_, err := b.run(1, func(ctx context.Context) error {
			s.down.Store(true)
			defer s.down.Store(false)
			_, err := f.do(ctx, "charge")
			return errors.Join(errAfter, err)
		})
		app := requireErrType(t, err, activity.ErrTypeStoreUnavailable)
		require.Positive(t, app.NextRetryDelay())
		require.Zero(t, f.made)
		r := b.record("1")
		require.Equal(t, store.StatusInProgress, r.Status)
		require.Nil(t, r.Failure)
		_, err = b.run(1, func(ctx context.Context) error { _, err := f.do(ctx, "charge"); return err })
		require.NoError(t, err)
	})

	t.Run("an answer that was lost after the effect was recorded changes nothing", func(t *testing.T) {
		t.Parallel()
		s := unreliable(t)
		b, f := setup(t, withStore(s)), &effects{}
		for range 2 {
			_, err := b.run(1, func(ctx context.Context) error {
				_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) {
					f.made++
					s.loseAnswer.Store(1)
					return 1, nil
				})
				return errors.Join(err, errAfter)
			})
			require.ErrorContains(t, err, errAfter.Error())
		}
		require.Equal(t, 1, f.made)
	})
}

// slow is a store that takes its time to renew, and counts.
type slow struct {
	store.Store
	renewals atomic.Int32
}

func (s *slow) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	s.renewals.Add(1)
	time.Sleep(time.Millisecond) //nolint:forbidigo // fake clock
	return s.Store.Renew(ctx, l)
}
