package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Retention ends here while records are still being worked on: what an evictor
// may take is told from what it may not by the lease alone. Batches are in no
// order, so that locks taken in another than the keys' would deadlock.
func TestFourEvictorsAndSixtyFourWriters(t *testing.T) {
	t.Parallel()
	const evictors, writers, rounds, batch = 4, 64, 8, 8
	b := setup(t, pgstore.Options{CallTimeout: time.Minute}, func(c *pgxpool.Config) { c.MaxConns = 24 })
	var evicted, lost, completed atomic.Int64
	writing, stop := context.WithCancel(t.Context())
	errs := make([]error, evictors+writers)
	var writer, evictor sync.WaitGroup
	for i := range evictors {
		evictor.Go(func() {
			for writing.Err() == nil && errs[i] == nil {
				n, err := b.store.Evict(t.Context(), 20)
				evicted.Add(int64(n))
				errs[i] = err
			}
		})
	}
	for i := range writers {
		writer.Go(func() {
			for round := range rounds {
				if err := writeAndKeep(t.Context(), b.store, i%8, round, batch, &lost, &completed); err != nil {
					errs[evictors+i] = err
					return
				}
			}
		})
	}
	writer.Wait()
	stop()
	evictor.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Positive(t, evicted.Load())
	require.Positive(t, completed.Load())
	t.Logf("%d records evicted, %d completed under a live lease, %d gone before they were renewed", evicted.Load(), completed.Load(), lost.Load())
	execute(t, b.pool, `SELECT pg_stat_force_next_flush()`)
	require.Zero(t, value[int](t, b.pool, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
}

// writeAndKeep reserves records whose retention ends at once, renews those it
// got, and completes them. Once it is told that a lease was renewed, the record
// must be there. Eight writers each ask for the same keys.
func writeAndKeep(ctx context.Context, s store.Store, group, round, batch int, lost, completed *atomic.Int64) error {
	rs := make([]store.Reservation, batch)
	for i, n := range rand.Perm(batch) {
		rs[i] = reservation(fmt.Sprintf("%d/%d/%d", group, round, n))
		rs[i].Lease = time.Duration(1+rand.N(200)) * time.Millisecond
		rs[i].Retention = rs[i].Lease + time.Millisecond
	}
	found, err := s.Reserve(ctx, rs)
	if err != nil {
		return err
	}
	var leases []store.Lease
	for i, f := range found {
		if f.Inserted {
			leases = append(leases, store.Lease{Key: rs[i].Key, Token: rs[i].Token, Duration: time.Minute})
		}
	}
	kept := leases
	for again := range 6 { // time for retention to end
		renewals, err := s.Renew(ctx, kept)
		if err != nil {
			return err
		}
		leases, kept = kept, nil
		for i, l := range leases {
			switch {
			case renewals[i] == store.LeaseRenewed, again > 0 && renewals[i] == store.LeaseLocked:
				// An evictor that saw the record before it was renewed locks it,
				// looks again, and leaves it.
				kept = append(kept, l)
			case again > 0:
				return fmt.Errorf("%q was renewed for a minute, and the next renewal answered with %s", l.Key, renewals[i])
			default:
				lost.Add(1)
			}
		}
	}
	var ends []store.Settlement
	for _, l := range kept {
		ends = append(ends, store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.OutcomeComplete, Result: []byte("paid")})
	}
	settled, err := s.Settle(ctx, ends)
	if err != nil {
		return err
	}
	for i, answer := range settled {
		if answer != store.SettledApplied {
			return fmt.Errorf("%q was renewed for a minute, and its completion was answered with %s", ends[i].Key, answer)
		}
		completed.Add(1)
	}
	return nil
}
