package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// slow is a store whose answers to reservations and acquisitions take their time
// on the way.
type slow struct {
	store.Store
	delay time.Duration
	renew *time.Duration // of the next renewal, if it takes its time too
}

func (s slow) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	renewed, err := s.Store.Renew(ctx, l)
	if s.renew != nil {
		time.Sleep(*s.renew) //nolint:forbidigo // fake clock
		*s.renew = 0
	}
	return renewed, err
}

func (s slow) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	found, err := s.Store.Reserve(ctx, r)
	time.Sleep(s.delay) //nolint:forbidigo // fake clock
	return found, err
}

func (s slow) Acquire(ctx context.Context, a []store.Acquisition) ([]store.Acquired, error) {
	got, err := s.Store.Acquire(ctx, a)
	time.Sleep(s.delay) //nolint:forbidigo // fake clock
	return got, err
}

func TestClaimGivesNoLeaseThatIsOver(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, store.Store, store.Reservation){
		"of a new record": func(*testing.T, store.Store, store.Reservation) {},
		"of a record that was taken over": func(t *testing.T, s store.Store, r store.Reservation) {
			r.Token = store.NewToken()
			_, err := store.Claim(t.Context(), s, r)
			require.NoError(t, err)
			_, err = s.Settle(t.Context(), []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeRelease, EffectPossible: true}})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, err := memstore.New(memstore.Options{})
				require.NoError(t, err)
				r := reservation(func(r *store.Reservation) { r.Lease = 3 * time.Second })
				prepare(t, memory, r)
				renewal := 4 * time.Second
				claimed, err := store.Claim(t.Context(), slow{memory, 4 * time.Second, &renewal}, r)
				require.NoError(t, err)
				require.Zero(t, renewal)
				require.Equal(t, store.ActAcquire, claimed.Action)
				found, err := memory.Get(t.Context(), r.Key)
				require.NoError(t, err)
				require.Equal(t, r.Token, found.Token)
				require.Greater(t, found.LeaseLeft, 2*time.Second)
			})
		})
	}
}
