package pgstore

import (
	"context"
	"fmt"
	"time"
)

const (
	// lockWait is how long one try waits for a record that a transaction has locked
	// or inserted. It is short beside a call, so that several such records take turns.
	lockWait = 500 * time.Millisecond

	// glance is how long a row waits that may have no reason to.
	glance = 10 * time.Millisecond
)

// patience is lockWait, or less where the call is soon over.
func patience(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(min(lockWait, time.Until(end)*3/4), time.Millisecond)
	}
	return lockWait
}

// lockTimeout is a duration as a setting of the server.
func lockTimeout(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// turns are taken by calls that wait for other transactions, one at a time, so that
// they leave the store's connections to the rest.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// take waits for a turn, and tells whether it came before ctx was done.
func (t turns) take(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeSoon waits for a turn as long as another one may last.
func (t turns) takeSoon(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return t.take(ctx)
}

func (t turns) leave() { <-t }
