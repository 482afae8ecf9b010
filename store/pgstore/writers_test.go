package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// churnSingly takes keys through their lives one by one, in random order, many
// callers at a time: what they ask for is gathered.
func churnSingly(ctx context.Context, s store.Store, callers, keys, rounds int) error {
	errs := make([]error, callers)
	var done sync.WaitGroup
	for i := range callers {
		done.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(i)))
			for range rounds {
				r := reservation(fmt.Sprintf("key-%03d", random.IntN(keys)))
				c, err := store.Claim(ctx, s, r)
				if err == nil && c.Action == store.ActAcquire {
					_, err = s.Settle(ctx, []store.Settlement{settlement(r, store.Settlement{Outcome: store.OutcomeRelease})})
				}
				if err != nil && !errors.Is(err, store.ErrContended) {
					errs[i] = err
					return
				}
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// churn takes all keys through their lives in batches of random order.
func churn(ctx context.Context, s store.Store, random *rand.Rand, keys, rounds int) error {
	for range rounds {
		batch := make([]store.Reservation, keys)
		for i, at := range random.Perm(keys) {
			batch[i] = reservation(fmt.Sprintf("key-%03d", at))
		}
		found, err := s.Reserve(ctx, batch)
		if err != nil {
			return err
		}
		acquisitions := make([]store.Acquisition, keys)
		leases, settlements := make([]store.Lease, keys), make([]store.Settlement, keys)
		for i, f := range found {
			acquisitions[i] = store.Acquisition{
				Reservation: batch[i], SeenToken: f.Record.Token, SeenStatus: store.StatusInProgress,
			}
			leases[keys-1-i] = leaseOf(batch[i])
			settlements[i] = settlement(batch[i], store.Settlement{Outcome: store.OutcomeRelease})
		}
		random.Shuffle(keys, func(i, j int) {
			acquisitions[i], acquisitions[j] = acquisitions[j], acquisitions[i]
			settlements[i], settlements[j] = settlements[j], settlements[i]
		})
		_, err = s.Acquire(ctx, acquisitions)
		_, err2 := s.Renew(ctx, leases)
		_, err3 := s.Settle(ctx, settlements)
		_, err4 := s.Evict(ctx, keys)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return err
		}
	}
	return nil
}

func TestWritersThatShareKeysInRandomOrderNeverDeadlock(t *testing.T) {
	t.Parallel()
	const writers, keys, rounds = 6, 64, 25
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	var beside, done sync.WaitGroup
	errs := make([]error, writers+1)
	beside.Go(func() { // transactions that hold one record each, for a while
		random := rand.New(rand.NewPCG(7, 7))
		for ctx.Err() == nil && errs[writers] == nil {
			errs[writers] = func() error {
				tx, err := b.pool.Begin(t.Context())
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback(t.Context()) }()
				_, err = tx.Exec(t.Context(), `UPDATE idempotency_records SET owner = 'beside' WHERE key = $1`,
					fmt.Sprintf("key-%03d", random.IntN(keys)))
				if err == nil {
					_, err = tx.Exec(t.Context(), `SELECT pg_sleep(0.005)`)
				}
				return errors.Join(err, tx.Commit(t.Context()))
			}()
		}
	})
	for i := range writers {
		done.Go(func() {
			errs[i] = churn(t.Context(), b.store, rand.New(rand.NewPCG(1, uint64(i))), keys, rounds)
		})
	}
	for range 2 { // two processes, each of which gathers
		other := requireStore(t, b.pool, pgstore.Options{CallTimeout: time.Minute})
		done.Go(func() {
			if err := churnSingly(t.Context(), other, 64, keys, rounds); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	stop()
	beside.Wait()
	require.NoError(t, errors.Join(errs...))
	execute(t, b.pool, `SELECT pg_stat_force_next_flush()`)
	require.Zero(t, value[int](t, b.pool, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
}
