package activity_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// mortal is a worker's way to the store, until the worker dies: what comes after
// that never reaches it.
type mortal struct {
	store.Store
	dead          atomic.Bool
	beforeReserve bool        // it dies with the next reservation
	afterSettle   atomic.Bool // it dies with the next settlement, which is carried out
}

func (m *mortal) die() {
	m.dead.Store(true)
	panic("killed")
}

func (m *mortal) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	if m.beforeReserve {
		m.die()
	}
	return m.Store.Reserve(ctx, r)
}

func (m *mortal) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	if m.dead.Load() {
		return nil, errDown
	}
	return m.Store.Renew(ctx, l)
}

func (m *mortal) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	if m.dead.Load() {
		return nil, errDown
	}
	settled, err := m.Store.Settle(ctx, s)
	if m.afterSettle.Load() {
		m.die()
	}
	return settled, err
}

// What the next attempt does about an effect, for each place in which a worker can
// die. docs/effects.md shows the table; transactions are in examples/ledger, with
// real processes.
func TestWindows(t *testing.T) {
	t.Parallel()
	const (
		beforeReserve = iota
		body
		afterEffect // before anything of it is recorded
		afterDo     // the effect is recorded, if it is one of Do's
		afterRecord // the activity's own record is completed, Temporal has not heard
		afterReport
	)
	for _, c := range []struct {
		window        int
		name          string
		plain, within int // effects that are made, without Do and with it
	}{
		{beforeReserve, "before the reservation", 1, 1},
		{body, "in the body, before the effect", 1, 1},
		{afterEffect, "after the effect, before any record of it", 2, 2},
		{afterDo, "after the effect and its record, before the activity's", 2, 1},
		{afterRecord, "after the record, before Temporal hears", 1, 1},
		{afterReport, "after Temporal has heard, at a reset", 1, 1},
	} {
		for _, withDo := range []bool{false, true} {
			name := c.name + ", with a key"
			if withDo {
				name = c.name + ", in Do"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					records := setup(t).store
					keys, made := map[activity.ProviderKey]bool{}, 0
					attempt := func(dies bool) error {
						m := &mortal{Store: records, beforeReserve: dies && c.window == beforeReserve}
						b := setup(t, withStore(m))
						at := func(window int) {
							if dies && c.window == window {
								m.die()
							}
						}
						charge := func(ctx context.Context) (string, error) {
							made++
							keys[activity.Key(ctx)] = true
							at(afterEffect)
							return "receipt", nil
						}
						_, err := b.run(1, func(ctx context.Context) (receipt string, err error) {
							at(body)
							if withDo {
								receipt, err = activity.Do(ctx, "charge", charge)
							} else {
								receipt, err = charge(ctx)
							}
							at(afterDo)
							m.afterSettle.Store(dies && c.window == afterRecord)
							return receipt, err
						})
						require.NoError(t, b.interceptor.Drain(t.Context()))
						return err
					}
					err := attempt(true)
					if c.window == afterReport {
						require.NoError(t, err)
					} else {
						require.ErrorContains(t, err, "killed")
					}
					time.Sleep(time.Minute) //nolint:forbidigo // fake clock: the dead worker's lease
					require.NoError(t, attempt(false))
					want := c.plain
					if withDo {
						want = c.within
					}
					require.Equal(t, want, made)
					require.Len(t, keys, 1, "whoever honours keys sees one effect")
				})
			})
		}
	}
}
