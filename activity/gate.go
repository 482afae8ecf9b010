package activity

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errBusy tells that the queue for the store was too long.
var errBusy = errors.New("dedupe: too many executions talk to the store")

// gate bounds the executions that ask the store for records at once. Those that
// settle and renew do not pass it: they are bounded by the ones that it let in,
// and must not queue behind newcomers.
type gate struct {
	slots   chan struct{}
	timeout time.Duration
}

func newGate(size int, timeout time.Duration) gate {
	return gate{slots: make(chan struct{}, size), timeout: timeout}
}

// enter takes a slot, which leave gives back. A caller that is cancelled in the queue
// gets ctx's error, one that waits too long errBusy.
func (g gate) enter(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(g.timeout):
		return fmt.Errorf("%w: none of the %d places came free in %v", errBusy, cap(g.slots), g.timeout)
	}
}

func (g gate) leave() { <-g.slots }
