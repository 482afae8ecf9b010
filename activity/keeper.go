package activity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// keeper renews the leases of all executions of this process that are neither
// settled nor abandoned, in one statement at a third of the shortest lease. Its
// timer runs only while there is a lease to keep.
type keeper struct {
	store   store.Store
	count   *telemetry.Telemetry
	timeout time.Duration
	log     *slog.Logger

	mu       sync.Mutex
	kept     map[*keptLease]struct{}
	timer    *time.Timer
	due      time.Time // when the timer fires; zero while it does not
	renewing bool
}

// keptLease is one lease in the keeper's care.
type keptLease struct {
	store.Lease
	// until is when a body that ignores its cancellation is abandoned.
	until time.Time
	// lost is called when another execution has the record.
	lost func()
}

func newKeeper(s store.Store, t *telemetry.Telemetry, timeout time.Duration, log *slog.Logger) *keeper {
	return &keeper{store: s, count: t, timeout: timeout, log: log, kept: map[*keptLease]struct{}{}}
}

// keep renews the lease from now on, until drop is called.
func (k *keeper) keep(l *keptLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[l] = struct{}{}
	k.arm(l.Duration / 3)
}

// drop ends the renewing of a lease; what a renewal under way finds out about
// it is ignored.
func (k *keeper) drop(l *keptLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, l)
	if len(k.kept) == 0 && k.timer != nil {
		k.timer.Stop()
		k.due = time.Time{}
	}
}

// arm makes sure that the timer fires within d. The caller holds the lock.
func (k *keeper) arm(d time.Duration) {
	due := time.Now().Add(d)
	switch {
	case k.renewing || !k.due.IsZero() && !k.due.After(due):
		return
	case k.timer == nil:
		k.timer = time.AfterFunc(d, k.renew)
	default:
		k.timer.Reset(d)
	}
	k.due = due
}

// renew renews every lease once and arms the timer again.
func (k *keeper) renew() {
	k.mu.Lock()
	if k.renewing || len(k.kept) == 0 {
		k.mu.Unlock()
		return
	}
	k.renewing, k.due = true, time.Time{}
	now := time.Now()
	var keeping []*keptLease
	for l := range k.kept {
		if now.After(l.until) {
			delete(k.kept, l)
			k.log.Error("dedupe: body abandoned, it ran on past its deadline and MaxOverrun; another execution may take the call over",
				"DedupeKey", ShortKey(l.Key))
			continue
		}
		keeping = append(keeping, l)
	}
	k.mu.Unlock()

	var answers []store.Renewal
	err := errNoRenewal
	defer func() { // also after a panic or runtime.Goexit in the store
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: it panicked with a %T", errNoRenewal, value)
		}
		k.renewed(keeping, answers, err)
	}()
	answers, err = k.ask(context.Background(), keeping, min(k.timeout, shortest(keeping)/4))
}

var errNoRenewal = errors.New("dedupe: the store did not return from a renewal")

// renewed goes by the answers of a renewal, or tries again soon if it failed.
func (k *keeper) renewed(keeping []*keptLease, answers []store.Renewal, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing = false
	if err != nil {
		k.log.Warn("dedupe: leases could not be renewed, trying again", "Leases", len(keeping), "DedupeKeys", shortKeys(keeping), "Error", err)
	}
	for i, l := range keeping {
		if _, still := k.kept[l]; still && err == nil && answers[i] == store.Lost {
			delete(k.kept, l)
			l.lost()
		}
	}
	if len(k.kept) == 0 {
		return
	}
	next := shortest(slices.Collect(maps.Keys(k.kept)))
	if err != nil || slices.Contains(answers, store.Locked) {
		// Several more tries fit into the lease that was not renewed.
		k.arm(max(next/10, minRetry))
		return
	}
	k.arm(next / 3)
}

// minRetry is the shortest pause between two tries to renew.
const minRetry = 100 * time.Millisecond

// ask renews. One call may not take so long that its failure costs the lease.
func (k *keeper) ask(ctx context.Context, leases []*keptLease, timeout time.Duration) ([]store.Renewal, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := make([]store.Lease, len(leases))
	for i, l := range leases {
		args[i] = l.Lease
	}
	answers, err := k.store.Renew(ctx, args)
	k.count.Renewed(ctx, len(args), answers, err)
	return answers, err
}

// shortKeys names some of the leases, for a log.
func shortKeys(leases []*keptLease) []string {
	const most = 8
	var keys []string
	for _, l := range leases[:min(len(leases), most)] {
		keys = append(keys, ShortKey(l.Key))
	}
	return keys
}

func shortest(leases []*keptLease) time.Duration {
	var d time.Duration
	for _, l := range leases {
		if d == 0 || l.Duration < d {
			d = l.Duration
		}
	}
	return d
}
