package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Durations are far longer than any test takes, and slack is the time that may
// pass by itself, so that a clock that runs gives the same answers as one that
// stands still.
const (
	lease     = 10 * time.Minute
	retention = 24 * time.Hour
	slack     = 2 * time.Minute
)

// kit is what one subtest works with.
type kit struct {
	*testing.T
	Harness

	ctx  context.Context //nolint:containedctx // of the subtest that it stands for
	keys int
}

func newKit(t *testing.T, h Harness) *kit {
	t.Helper()
	return &kit{T: t, Harness: h, ctx: t.Context()}
}

// reservation asks for a new key; each change is applied to it in turn.
func (k *kit) reservation(changes ...func(*store.Reservation)) store.Reservation {
	k.keys++
	r := store.Reservation{
		Key:       fmt.Sprintf("%s/%d", k.Name(), k.keys),
		Hashes:    []string{"v1:s1:aaaa"},
		Token:     store.NewToken(),
		Lease:     lease,
		Retention: retention,
		Policy:    store.Reexecute,
		Origin: store.Origin{
			Lineage: "first-run", Invocation: "run-1/5/1700000000123456789",
			Namespace: "default", WorkflowID: "order-42", RunID: "run-1",
			ActivityID: "5", ActivityType: "ChargePayment",
			ScheduledAt: time.Date(2025, 3, 4, 5, 6, 7, 891_000, time.UTC),
			Attempt:     1, Owner: "4711@host", TraceParent: "00-01-02-01",
		},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func policy(p store.TakeoverPolicy) func(*store.Reservation) {
	return func(r *store.Reservation) { r.Policy = p }
}

// again asks for the same call as r, as a new execution.
func again(r store.Reservation, changes ...func(*store.Reservation)) store.Reservation {
	r.Token = store.NewToken()
	r.Attempt++
	for _, change := range changes {
		change(&r)
	}
	return r
}

func (k *kit) reserve(r store.Reservation) store.Found {
	k.Helper()
	found, err := k.Store.Reserve(k.ctx, []store.Reservation{r})
	require.NoError(k, err)
	require.Len(k, found, 1)
	return found[0]
}

// insert reserves a key that must be new.
func (k *kit) insert(r store.Reservation) {
	k.Helper()
	require.True(k, k.reserve(r).Inserted, "the key is new")
}

// acquire takes over the record as seen.
func (k *kit) acquire(seen store.Record, r store.Reservation) store.Acquired {
	k.Helper()
	got, err := k.Store.Acquire(k.ctx, []store.Acquisition{acquisition(seen, r)})
	require.NoError(k, err)
	require.Len(k, got, 1)
	return got[0]
}

func acquisition(seen store.Record, r store.Reservation) store.Acquisition {
	return store.Acquisition{Reservation: r, SeenToken: seen.Token, SeenStatus: seen.Status, SeenHeld: seen.Held}
}

func (k *kit) renew(r store.Reservation) store.Renewal {
	k.Helper()
	got, err := k.Store.Renew(k.ctx, []store.Lease{leaseOf(r)})
	require.NoError(k, err)
	require.Len(k, got, 1)
	return got[0]
}

func leaseOf(r store.Reservation) store.Lease {
	return store.Lease{Key: r.Key, Token: r.Token, Duration: r.Lease}
}

// settle ends the execution that r began.
func (k *kit) settle(r store.Reservation, s store.Settlement) store.Settled {
	k.Helper()
	s.Key, s.Token = r.Key, r.Token
	got, err := k.Store.Settle(k.ctx, []store.Settlement{s})
	require.NoError(k, err)
	require.Len(k, got, 1)
	return got[0]
}

// apply settles and requires that it was carried out.
func (k *kit) apply(r store.Reservation, s store.Settlement) {
	k.Helper()
	require.Equal(k, store.SettledApplied, k.settle(r, s))
}

func (k *kit) claim(r store.Reservation) store.Claimed {
	k.Helper()
	c, err := store.Claim(k.ctx, k.Store, r)
	require.NoError(k, err)
	return c
}

func (k *kit) get(r store.Reservation) store.Record {
	k.Helper()
	rec, err := k.Store.Get(k.ctx, r.Key)
	require.NoError(k, err)
	return rec
}

func (k *kit) requireMissing(r store.Reservation) {
	k.Helper()
	_, err := k.Store.Get(k.ctx, r.Key)
	require.ErrorIs(k, err, store.ErrNotFound)
	require.ErrorContains(k, err, r.Key)
}

// requireUnchanged requires that nobody wrote the record, byte for byte. What
// is left of its lease may only have become less.
func (k *kit) requireUnchanged(before store.Record) {
	k.Helper()
	k.requireSame(before, k.must(before.Key))
}

// requireRepeated requires that the record says what it said, though it may
// have been written again.
func (k *kit) requireRepeated(before store.Record) {
	k.Helper()
	after := k.must(before.Key)
	require.WithinDuration(k, before.UpdatedAt, after.UpdatedAt, slack)
	require.InDelta(k, before.LeaseLeft, after.LeaseLeft, float64(slack))
	before.UpdatedAt, before.LeaseLeft = after.UpdatedAt, after.LeaseLeft
	k.requireSame(before, after)
}

func (k *kit) requireSame(before, after store.Record) {
	k.Helper()
	require.LessOrEqual(k, after.LeaseLeft, before.LeaseLeft)
	require.Greater(k, after.LeaseLeft, before.LeaseLeft-slack)
	for _, r := range []*store.Record{&before, &after} {
		r.LeaseLeft = 0
		r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
		r.ExpiresAt, r.ScheduledAt = r.ExpiresAt.UTC(), r.ScheduledAt.UTC()
	}
	require.Equal(k, before, after)
}

func (k *kit) must(key string) store.Record {
	k.Helper()
	rec, err := k.Store.Get(k.ctx, key)
	require.NoError(k, err)
	return rec
}

// requireLease requires that about d is left of the record's lease.
func (k *kit) requireLease(d time.Duration, rec store.Record) {
	k.Helper()
	require.LessOrEqual(k, rec.LeaseLeft, d)
	require.Greater(k, rec.LeaseLeft, d-slack)
}

// requireLeaseOver requires that nothing is left of it.
func (k *kit) requireLeaseOver(rec store.Record) {
	k.Helper()
	require.LessOrEqual(k, rec.LeaseLeft, time.Duration(0))
}
