package activity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"go.temporal.io/sdk/interceptor"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// VerifyRequest asks how an earlier execution of a call ended.
type VerifyRequest struct {
	// Key is the provider key that the earlier execution used.
	Key ProviderKey
	// Args are the call's decoded arguments.
	Args []any
	// FirstSeen is when the call was first reserved, by the store's clock.
	FirstSeen time.Time
}

// Verification is a verifier's answer: [Done], [NotDone] or [CannotTell].
type Verification struct {
	kind   verificationKind
	result any
}

type verificationKind int

const (
	cannotTell verificationKind = iota
	done
	notDone
)

// Done says that the effect was made, with this result.
func Done(result any) Verification { return Verification{kind: done, result: result} }

// NotDone says that the effect was certainly not made: the body runs.
func NotDone() Verification { return Verification{kind: notDone} }

// CannotTell says that nobody knows: the call is refused with
// [ErrTypeOutcomeUnknown] and held for an operator. It is also what an error, a
// panic or a timeout of the verifier means.
func CannotTell() Verification { return Verification{} }

// verify asks the policy's verifier under the new lease, and goes on as it says.
func (e *execution) verify(ctx context.Context, claimed store.Claimed, next interceptor.ActivityInboundInterceptor, in *interceptor.ExecuteActivityInput) (any, error) {
	e.generation, e.effectBefore = claimed.Generation, claimed.EffectPossible()
	asked := false
	defer func() {
		if !asked { // runtime.Goexit in the verifier
			e.settle(ctx, release(claimed))
			e.record(ctx, telemetry.Panicked)
		}
	}()
	answer, err := e.ask(ctx, VerifyRequest{
		Key: RecordProviderKey(e.call.key, claimed.Generation), Args: in.Args, FirstSeen: claimed.Found.CreatedAt,
	})
	asked = true
	switch {
	case ctx.Err() != nil:
		if err := e.neverStarted(ctx, claimed); !errors.Is(err, ErrLeaseLost) {
			return nil, err
		}
		return e.superseded(ctx)
	case answer.kind == done:
		e.executed = telemetry.Verified
		return e.conclude(ctx, claimed.Lease, func() (any, error) { return answer.result, nil })
	case answer.kind == notDone:
		e.effectBefore = false
		return e.run(ctx, claimed.Lease, next, in)
	}
	e.settle(ctx, store.Settlement{Key: claimed.Lease.Key, Token: claimed.Lease.Token, Outcome: store.OutcomeHold, OwnLease: true})
	if err != nil {
		// Its text is the author's, and may quote arguments: it goes to the
		// workflow with the error, and not into the log.
		e.log.Warn("dedupe: the verifier failed", "ErrorType", fmt.Sprintf("%T", err))
		return e.refuseUnknown(ctx, outcomeUnknownError(e.call, claimed.Found, fmt.Sprintf("the verifier failed (%v)", err)),
			outcomeUnknownError(e.call, claimed.Found, "the verifier failed"))
	}
	return e.unknown(ctx, claimed.Found, "the verifier cannot tell")
}

// ask calls the verifier with a deadline of its own. It has a goroutine of its own as
// well, on which one that ignores the deadline is left behind.
func (e *execution) ask(ctx context.Context, request VerifyRequest) (answer Verification, err error) {
	if e.policy.Verify == nil {
		return CannotTell(), errors.New("the policy no longer has one")
	}
	ctx, cancel := context.WithTimeout(ctx, e.policy.VerifyTimeout)
	defer cancel()
	exited, ended := true, make(chan struct{})
	var said Verification
	var failed error
	go func() {
		defer close(ended)
		defer func() {
			if value := recover(); value != nil {
				exited, failed = false, fmt.Errorf("panic: %v", value)
			}
		}()
		said, failed = e.policy.Verify(ctx, request)
		exited = false
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	select { // an answer that is there counts
	case <-ended:
		if exited {
			runtime.Goexit() // as the verifier did
		}
		answer, err = said, failed
	default:
		return CannotTell(), ctx.Err()
	}
	if err == nil && ctx.Err() != nil && answer.kind == cannotTell {
		err = ctx.Err()
	}
	if err != nil {
		answer = CannotTell()
	}
	return answer, err
}

// unknown refuses the call, whose record is held for an operator.
func (e *execution) unknown(ctx context.Context, found store.Record, why string) (any, error) {
	err := outcomeUnknownError(e.call, found, why)
	return e.refuseUnknown(ctx, err, err)
}

func (e *execution) refuseUnknown(ctx context.Context, err, logged error) (any, error) {
	e.log.Error(logged.Error())
	e.record(ctx, telemetry.OutcomeUnknown)
	return nil, err
}
