package activity

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

// body is what the body of an activity has done so far beside running: effects by
// their names, and at most one transaction.
type body struct {
	mu    sync.Mutex
	names map[string]bool
	state bodyState
	// leaving is the result that a transaction has recorded, if it has.
	leaving  any
	recorded bool
	// doubt is why nobody knows whether the transaction has committed.
	doubt error
}

type bodyState int

const (
	bodyRuns     bodyState = iota
	bodyInTx               // a transaction is open
	bodyDone               // one has committed, without a result to remember
	bodyRecorded           // one has committed, the record with it
	bodyDoubtful           // nobody knows whether one has committed
	bodyEnded
)

var (
	errInTx     = errors.New("dedupe: a transaction of InTx is open, which holds the call's record: make the effect before or after it")
	errRecorded = errors.New("dedupe: InTx has recorded the result of the call: what comes after it would not be repeated after a crash; make the effect before it")
	errSecondTx = errors.New("dedupe: InTx was called before in this execution: once is all there is, since it records the result of the call")
	errEnded    = errors.New("dedupe: the activity has returned")
)

// admit lets an effect begin, once for each path of names.
func (b *body) admit(path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == bodyInTx:
		return errInTx
	case b.state == bodyRecorded || b.state == bodyDoubtful:
		return errRecorded
	case b.state == bodyEnded:
		return errEnded
	case b.names[path]:
		return fmt.Errorf("%w: %q: give each its own name", ErrDuplicateEffect, path)
	case b.names == nil:
		b.names = map[string]bool{}
	}
	b.names[path] = true
	return nil
}

// beginTx lets a transaction begin. One that was rolled back may be followed by
// another.
func (b *body) beginTx() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.state {
	case bodyRuns:
		b.state = bodyInTx
		return nil
	case bodyEnded:
		return errEnded
	default:
		return errSecondTx
	}
}

// endTx says how the transaction ended.
func (b *body) endTx(state bodyState, leaving any, doubt error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == bodyInTx {
		b.state, b.leaving, b.doubt = state, leaving, doubt
		b.recorded = state == bodyRecorded
	}
}

// end is called when the body has returned, and tells whether a transaction has
// recorded the result, and which one.
func (b *body) end() (leaving any, recorded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = bodyEnded
	return b.leaving, b.recorded
}

// leave returns the result that the transaction has recorded, whatever the body has
// returned since: a retry would be answered with it.
func (e *execution) leave(ctx context.Context, leaving any, err error) (any, error) {
	e.drop()
	if err != nil {
		e.log.Warn("dedupe: the body returned an error after InTx had recorded its result; the recorded result is the answer", "Error", err)
	}
	e.record(ctx, telemetry.Executed)
	return leaving, nil
}
