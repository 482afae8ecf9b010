package activity

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// completion ends one call from outside its activity.
type completion struct {
	o        AsyncOptions
	f        handleFields
	encoding encoding
	span     telemetry.Span
}

// complete records, and tells Temporal; and says what came of it.
func (c *completion) complete(ctx context.Context, result any, err error) (telemetry.Outcome, error) {
	s, a, err := c.outcome(ctx, result, err)
	if err != nil {
		return telemetry.Incomplete, err
	}
	if c.f.Key != "" {
		record, err := c.settle(ctx, s)
		c.span.LinkTo(record.TraceParent)
		switch {
		case errors.Is(err, ErrStaleHandle):
			return telemetry.Stale, err
		case err != nil:
			return telemetry.Incomplete, err
		}
		if a, err = c.recorded(record, a); err != nil {
			return telemetry.Incomplete, err
		}
	}
	switch err := c.send(ctx, a); {
	case errors.Is(err, ErrNotWaiting):
		return telemetry.NotWaiting, errors.Join(a.tooLarge, err)
	case err != nil:
		return telemetry.Incomplete, errors.Join(a.tooLarge, err)
	case a.tooLarge != nil:
		return telemetry.ResultTooLarge, a.tooLarge
	case a.canceled:
		return telemetry.Canceled, nil
	case a.failure != nil:
		return telemetry.Failed, nil
	}
	return telemetry.Completed, nil
}

func (c *completion) spanAttributes() []attribute.KeyValue {
	attrs := []attribute.KeyValue{telemetry.AttrActivityType.String(c.f.ActivityType)}
	if c.f.Key != "" {
		attrs = append(attrs, telemetry.AttrKey.String(ShortKey(c.f.Key)))
	}
	return attrs
}

// outcome makes the settlement, and what to tell Temporal where there is no
// record to take it from.
func (c *completion) outcome(ctx context.Context, result any, err error) (store.Settlement, answer, error) {
	s := store.Settlement{Key: c.f.Key, Outcome: store.OutcomeComplete}
	if c.f.Key != "" {
		s.Token, _ = store.ParseToken(c.f.Token) // validated
	}
	encoding := c.encoding.in(c.info())
	var canceled *temporal.CanceledError
	switch {
	case err == nil:
		payloads, err := c.encoding.complete(ctx, c.info(), result, c.f.MaxResultBytes, &s)
		if err != nil {
			return s, answer{}, fmt.Errorf("dedupe: the result cannot be encoded: %w", err)
		}
		return s, answer{result: payloads}, nil
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		s.Outcome, s.EffectPossible = store.OutcomeRelease, true
		return s, answer{canceled: true, failure: encoding.toFailure(err)}, nil
	}
	err, noEffect := withoutMark(err)
	_, failure, problem := encoding.acceptable(err, false)
	if problem != nil {
		return s, answer{}, problem
	}
	s.Outcome = store.OutcomeFail
	s.NonRetryable = nonRetryable(failure, &temporal.RetryPolicy{NonRetryableErrorTypes: c.f.NonRetryable})
	s.EffectPossible = !s.NonRetryable
	if noEffect {
		s.EffectPossible, s.NewGeneration = c.f.EffectBefore, !c.f.EffectBefore
	}
	if s.Failure, err = marshalFailure(failure); err != nil {
		return s, answer{}, fmt.Errorf("dedupe: the failure cannot be encoded: %w", err)
	}
	return s, answer{failure: failure}, nil
}

// settle writes the outcome and answers the record as it then stands.
func (c *completion) settle(ctx context.Context, s store.Settlement) (store.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.SettleTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	settled, err := settleUntil(ctx, end, c.o.Store, c.o.StoreCallTimeout, s)
	if err != nil {
		return store.Record{}, fmt.Errorf("dedupe: the outcome of call %q may not be recorded, and Temporal was not told; try again: %w", c.f.Key, err)
	}
	c.span.Settled(string(s.Outcome), string(settled))
	read, done := context.WithTimeout(ctx, c.o.StoreCallTimeout)
	defer done()
	record, err := c.o.Store.Get(read, c.f.Key)
	switch {
	case settled == store.SettledMissing, errors.Is(err, store.ErrNotFound):
		return record, fmt.Errorf("dedupe: Temporal was not told: %w: key %q: is AsyncOptions.Store the one that the workers have?", store.ErrNotFound, c.f.Key)
	case err != nil:
		return record, fmt.Errorf("dedupe: the record of call %q could not be read, and Temporal was not told; try again: %w", c.f.Key, err)
	case record.Token != s.Token:
		// The record does not tell who gave it the token: an operator leaves the run and
		// the attempt of the owner before.
		return record, fmt.Errorf("%w: call %q belongs to another token now: another execution took it over, or an operator "+
			"resolved it, which `dedupe records audit` tells; its last owner was in run %s, attempt %d, and it is %s",
			ErrStaleHandle, c.f.Key, record.RunID, record.Attempt, record.Status)
	case settled != store.SettledApplied && record.Status != ends[s.Outcome]:
		return record, fmt.Errorf("%w: call %q is recorded as %s already", ErrStaleHandle, c.f.Key, record.Status)
	}
	return record, nil
}

// ends are the states in which an outcome leaves a record. The first outcome of a
// call stays: a second one of its kind sends it again.
var ends = map[store.Outcome]store.Status{store.OutcomeComplete: store.StatusCompleted, store.OutcomeFail: store.StatusFailed}

// recorded returns the outcome that stands in the record. A second completion of a
// call sends the first one's, byte for byte.
func (c *completion) recorded(r store.Record, unrecorded answer) (a answer, err error) {
	what := "result"
	switch {
	case r.Status == store.StatusCompleted && r.Tombstone == store.TombstoneResultTooLarge:
		a.tooLarge = resultTooLargeError(c.f.Key, r.ResultSize, c.f.MaxResultBytes)
		a.failure = c.encoding.in(c.info()).toFailure(a.tooLarge)
	case r.Status == store.StatusCompleted && r.Tombstone != "":
		err = fmt.Errorf("it is gone (%s)", r.Tombstone)
	case r.Status == store.StatusCompleted:
		a.result, err = unmarshalPayloads(r.Result)
	case r.Status == store.StatusFailed:
		what = "failure"
		a.failure, err = unmarshalFailure(r.Failure)
	default:
		return unrecorded, nil // a cancellation
	}
	if err != nil {
		return a, fmt.Errorf("dedupe: the recorded %s of %q cannot be read, and Temporal was not told: %w", what, c.f.Key, err)
	}
	return a, nil
}

// info is the part of the activity's that converters are told.
func (c *completion) info() sdkactivity.Info {
	return sdkactivity.Info{
		WorkflowExecution: workflow.Execution{ID: c.f.WorkflowID, RunID: c.f.RunID},
		WorkflowType:      &workflow.Type{Name: c.f.WorkflowType},
		ActivityType:      sdkactivity.Type{Name: c.f.ActivityType},
		Namespace:         c.f.Namespace, TaskQueue: c.f.TaskQueue,
	}
}
