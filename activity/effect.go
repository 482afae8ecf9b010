package activity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// effect is what only the execution of a function inside an activity has.
type effect struct {
	// parent is the execution around it: the activity's, or another effect's.
	parent *execution
	// path are the names that lead to it.
	path []string
}

// newEffect returns the execution of an effect that may begin.
func newEffect(ctx context.Context, name string, o DoOptions) (*execution, error) {
	parent := executionFrom(ctx)
	switch {
	case parent == nil || parent.unprotected:
		return nil, fmt.Errorf("%w: Do(%q) works in an activity that has a policy, with that activity's context", ErrNotDeduplicated, name)
	case name == "":
		return nil, errors.New("dedupe: Do: the effect has no name")
	}
	root, path := parent.root(), []string{name}
	if parent.effect != nil {
		path = append(slices.Clone(parent.effect.path), name)
	}
	c, form := root.call.effect(path), root.form
	if o.Fingerprint != nil {
		var err error
		if form, err = canonicalForm(Policy{}, []any{o.Fingerprint}); err != nil {
			return nil, own(refuse(ErrTypeNoFingerprint, "DoOptions.Fingerprint of effect %q has no canonical form: %s", name, withoutValues(err)))
		}
	}
	hashes := fingerprints(nil, root.i.options.FingerprintSecrets, c.key, form)
	if o.Fingerprint != nil && c.origin.Invocation != "" {
		// Within one scheduling the arguments are equal by nature, but what a body
		// has read meanwhile is not.
		c.origin.Invocation += "/" + hashes[0]
	}
	if err := root.body.admit(joinParts(path)); err != nil {
		return nil, err
	}
	return &execution{
		i: root.i, info: root.info, policy: effectPolicy(root.policy), call: c, form: form, hashes: hashes, generation: c.generation,
		count: root.count, executed: telemetry.Executed,
		log:    callLogger{log.With(sdkactivity.GetLogger(ctx), "Effect", strings.Join(path, "/")), c.key},
		effect: &effect{parent: parent, path: path},
	}, nil
}

// effectPolicy is the activity's, but for what speaks of its result, or of it as a
// whole. Without a verifier of its own an effect that nobody knows of is refused;
// and it never runs without a record, having been asked to be remembered.
func effectPolicy(p Policy) Policy {
	if p.Takeover == store.Verify {
		p.Takeover = store.Refuse
	}
	p.Verify, p.IsFinal, p.OnStoreError = nil, nil, FailClosed
	return p
}

// perform answers the effect from its record, or makes it. The answer is encoded.
func (e *execution) perform(ctx context.Context, fn func(context.Context) (any, error)) (any, error) {
	return e.observe(ctx, func(ctx context.Context) (any, error) { return e.performed(ctx, fn) })
}

func (e *execution) performed(ctx context.Context, fn func(context.Context) (any, error)) (any, error) {
	if err := e.effect.parent.requireLease(ctx, e); err != nil {
		return nil, err
	}
	leased, claimed, err := e.claim(ctx)
	if err != nil {
		return nil, e.effectError(ctx, err)
	}
	e.found(ctx, claimed)
	switch claimed.Action {
	case store.ActAcquire:
		return e.make(leased, claimed, fn)
	case store.ActReplay:
		result, err := e.replay(ctx, claimed)
		return result, own(err)
	case store.ActReplayFailure:
		if _, err := unmarshalFailure(claimed.Found.Failure); err != nil {
			return nil, own(e.corrupt(ctx, "failure", err))
		}
		return e.replayFailure(ctx, claimed)
	case store.ActConflict:
		return nil, own(e.conflict(ctx, claimed.Found))
	case store.ActOther:
		return nil, own(e.other(ctx, claimed.Found))
	case store.ActVerify: // a later release's record, which has become ours
		e.giveBack(ctx, claimed)
	}
	_, err = e.unknown(ctx, claimed.Found, "an earlier execution of the effect ended without a result")
	return nil, own(err)
}

// make runs the effect under its lease, and records it at once.
func (e *execution) make(leaseCtx context.Context, claimed store.Claimed, fn func(context.Context) (any, error)) (any, error) {
	e.generation, e.effectBefore = claimed.Generation, claimed.EffectPossible()
	var failed error
	result, err := e.conclude(leaseCtx, claimed.Lease, func() (result any, err error) {
		result, err = fn(owner.With(leaseCtx, e))
		if err == sdkactivity.ErrResultPending { //nolint:errorlint // as Temporal compares it
			err = fmt.Errorf("dedupe: effect %q: only an activity can be completed from outside: %w", strings.Join(e.effect.path, "/"), err)
		}
		failed = err
		return result, err
	})
	switch {
	case errors.Is(context.Cause(leaseCtx), ErrLeaseLost):
		// Of the effect, or of what is around it. What was made is recorded all the
		// same, where the effect's own token stands: its successor must know of it.
		return nil, lostLease(e.call)
	case failed != nil:
		return nil, seal(failed)
	default:
		return result, own(err)
	}
}

// effectError is the error of an effect that did not begin.
func (e *execution) effectError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrLeaseLost) || errors.Is(err, ErrLeaseLost) {
		e.record(ctx, telemetry.Superseded)
		return lostLease(e.effect.parent.call)
	}
	return own(err)
}

// requireLease makes sure that the execution still owns its record, by the store's
// word: a body whose successor is at work must not begin anything. It waits, for
// the effect that wants to begin, where somebody has locked the record or the store
// cannot be reached.
func (e *execution) requireLease(ctx context.Context, begins *execution) error {
	w := &waiter{e: begins, since: time.Now(), poll: pollFirst}
	for {
		answer, err := e.look(ctx)
		retry := retryLater{ErrTypeStoreUnavailable, telemetry.StoreUnavailable, begins.outageDelay(), false, err,
			"the store cannot be reached and the effect was not made"}
		switch {
		case ctx.Err() != nil:
			return begins.effectError(ctx, ctx.Err())
		case err == nil && answer == store.LeaseRenewed:
			return nil
		case err == nil && answer == store.LeaseLost:
			begins.record(ctx, telemetry.Superseded)
			return lostLease(e.call)
		case err == nil:
			retry = retryLater{ErrTypeStoreBusy, telemetry.StoreBusy, time.Second, false, nil,
				"the record of its activity is locked and the effect was not made"}
		}
		if err := w.wait(ctx, retry); err != nil {
			begins.record(ctx, retry.outcome)
			return begins.effectError(ctx, err)
		}
	}
}

// staysInAttempt tells an effect whose activity may not end without a result: its
// next attempt would be refused, so that waiting is all there is.
func (e *execution) staysInAttempt() bool {
	return e.effect != nil && e.root().policy.Takeover != store.Reexecute
}

func unreadableEffect(name string, into any, err error) error {
	return own(refuse(ErrTypeRecordCorrupt, "the recorded result of effect %q cannot be read as %T: %v; it was made and is not made again", name, into, err))
}
