package activity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// keeper renews the leases of all executions of this process that are neither
// settled nor abandoned, in one statement at a third of the shortest lease. A
// statement that takes long holds back those leases only that are in it: the
// others, short ones that have begun since among them, get one of their own when
// it is time. The timer runs only while there is a lease to keep.
type keeper struct {
	store   store.Store
	count   *telemetry.Telemetry
	timeout time.Duration
	log     *slog.Logger

	mu    sync.Mutex
	kept  map[*keptLease]struct{}
	timer *time.Timer
	due   time.Time // when the timer fires; zero while it does not

	warning sync.Mutex // held while a renewal that failed is being logged
}

// keptLease is one lease in the keeper's care.
type keptLease struct {
	store.Lease
	// until is when a body that ignores its cancellation is abandoned.
	until time.Time
	// cancel ends the context of the body when another execution has the record,
	// and lost says so then.
	cancel context.CancelCauseFunc
	lost   func()
	// renewing tells that a renewal of it is under way. The keeper's lock guards it.
	renewing bool
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
	case !k.due.IsZero() && !k.due.After(due):
		return
	case k.timer == nil:
		k.timer = time.AfterFunc(d, k.renew)
	default:
		k.timer.Reset(d)
	}
	k.due = due
}

// renew renews once every lease that is not being renewed already. What there is to
// say comes last, when the next renewal is due and bodies have been cancelled.
func (k *keeper) renew() {
	keeping, abandoned := k.take()
	defer k.tellAbandoned(abandoned)
	if len(keeping) == 0 {
		return
	}
	var answers []store.Renewal
	err := errNoRenewal
	defer func() { // also after a panic or runtime.Goexit in the store
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: it panicked with a %T", errNoRenewal, value)
		}
		lost := k.renewed(keeping, answers, err)
		for _, l := range lost {
			l.cancel(ErrLeaseLost)
		}
		k.tellRenewed(keeping, lost, err)
	}()
	answers, err = k.ask(context.Background(), keeping, min(k.timeout, shortest(keeping)/4))
}

// tellAbandoned and tellRenewed call the user's loggers, meters and spans. These can
// hang, so that nobody may wait for them, and panic.
func (k *keeper) tellAbandoned(abandoned []*keptLease) {
	for _, l := range abandoned {
		shielded(func() {
			k.log.Error("dedupe: body abandoned, it ran on past its deadline and MaxOverrun; another execution may take the call over",
				"DedupeKey", ShortKey(l.Key))
		})
	}
}

func (k *keeper) tellRenewed(keeping, lost []*keptLease, err error) {
	for _, l := range lost {
		shielded(l.lost)
	}
	// One line at a time, or a logger that hangs would get one more with each try.
	if err != nil && k.warning.TryLock() {
		defer k.warning.Unlock()
		shielded(func() {
			k.log.Warn("dedupe: leases could not be renewed, trying again", "Leases", len(keeping), "DedupeKeys", shortKeys(keeping), "Error", err)
		})
	}
}

// take returns the leases to renew, and those whose time is over, which nobody
// keeps any longer.
func (k *keeper) take() (keeping, abandoned []*keptLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due = time.Time{}
	now, keys, again := time.Now(), make(map[string]bool, len(k.kept)), false
	for l := range k.kept {
		switch {
		case l.renewing:
		case keys[l.Key]:
			// An owner that has lost its record, and its successor in this process. No
			// store takes a key twice.
			again = true
		case now.After(l.until):
			delete(k.kept, l)
			abandoned = append(abandoned, l)
		default:
			l.renewing, keys[l.Key] = true, true
			keeping = append(keeping, l)
		}
	}
	if again {
		k.arm(0)
	}
	return keeping, abandoned
}

var errNoRenewal = errors.New("dedupe: the store did not return from a renewal")

// renewed goes by the answers of a renewal, or tries again soon if it failed, and
// returns the leases that are lost. The timer is for all leases that nobody renews
// now.
func (k *keeper) renewed(keeping []*keptLease, answers []store.Renewal, err error) (lost []*keptLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, l := range keeping {
		l.renewing = false
		if _, still := k.kept[l]; still && err == nil && answers[i] == store.LeaseLost {
			delete(k.kept, l)
			lost = append(lost, l)
		}
	}
	var idle []*keptLease
	for l := range k.kept {
		if !l.renewing {
			idle = append(idle, l)
		}
	}
	switch next := shortest(idle); {
	case len(idle) == 0:
	case err != nil || slices.Contains(answers, store.LeaseLocked):
		// Several more tries fit into the lease that was not renewed.
		k.arm(max(next/10, minRetry))
	default:
		k.arm(next / 3)
	}
	return lost
}

// minRetry is the shortest pause between two tries to renew.
const minRetry = 100 * time.Millisecond

// ask renews. One call may not take so long that its failure costs the lease.
func (k *keeper) ask(ctx context.Context, leases []*keptLease, timeout time.Duration) ([]store.Renewal, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := make([]store.Lease, len(leases))
	for i, l := range leases {
		args[i] = l.Lease
	}
	answers, err := k.store.Renew(ctx, args)
	if err == nil && len(answers) != len(args) {
		err = fmt.Errorf("dedupe: store gave %d answers to %d leases", len(answers), len(args))
	}
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
