package activity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var (
	// ErrStaleHandle appears from [CompleteAsync] when the call was taken over
	// by a later execution, was resolved by an operator, or was settled otherwise.
	// Nothing was recorded, and nothing was sent to Temporal.
	ErrStaleHandle = errors.New("dedupe: handle is stale")
	// ErrNotWaiting appears from [CompleteAsync] when the outcome stands in the
	// record, but Temporal does not wait for this activity: it was told before,
	// the attempt's time is over, or the run was closed or reset. An attempt
	// that follows is answered from the record, so there is nothing to repeat.
	ErrNotWaiting = errors.New("dedupe: the outcome is recorded, but Temporal does not wait for the activity")
)

// AsyncOptions are what completes calls from outside their activities.
type AsyncOptions struct {
	// Client tells Temporal. Its own CompleteActivity methods must not be used
	// for such a call: they would leave the record pending. Required.
	Client client.Client
	// Store is the one that the workers have. Required.
	Store store.Store
	// DataConverter and FailureConverter must be the client's own. Default to
	// Temporal's defaults, unless the worker had others: then they are required.
	DataConverter    converter.DataConverter
	FailureConverter converter.FailureConverter
	// TracerProvider and MeterProvider default to OpenTelemetry's global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Identity names this process to Temporal. Defaults to pid@host.
	Identity string
	// StoreCallTimeout bounds one call of the store, SettleTimeout all of them.
	// Default to 5 s and 30 s.
	StoreCallTimeout time.Duration
	SettleTimeout    time.Duration
}

func (o AsyncOptions) withDefaults() AsyncOptions {
	o.StoreCallTimeout = cmp.Or(o.StoreCallTimeout, 5*time.Second)
	o.SettleTimeout = cmp.Or(o.SettleTimeout, 30*time.Second)
	o.DataConverter = cmp.Or(o.DataConverter, converter.GetDefaultDataConverter())
	o.FailureConverter = cmp.Or(o.FailureConverter, temporal.GetDefaultFailureConverter())
	o.Identity = cmp.Or(o.Identity, defaultIdentity())
	return o
}

// validate tells what is missing, for this handle.
func (o AsyncOptions) validate(f handleFields) error {
	const own = "dedupe: AsyncOptions.%s is nil, but the worker encodes with %s: pass the client's own"
	switch {
	case o.Client == nil:
		return errors.New("dedupe: AsyncOptions.Client is nil")
	case o.Store == nil && f.Key != "":
		return errors.New("dedupe: AsyncOptions.Store is nil: pass the store that the workers have")
	case o.StoreCallTimeout < 0:
		return fmt.Errorf("dedupe: AsyncOptions.StoreCallTimeout is negative: %v", o.StoreCallTimeout)
	case o.SettleTimeout < 0:
		return fmt.Errorf("dedupe: AsyncOptions.SettleTimeout is negative: %v", o.SettleTimeout)
	case o.DataConverter == nil && f.DataConverter != "":
		return fmt.Errorf(own, "DataConverter", f.DataConverter)
	case o.FailureConverter == nil && f.FailureConverter != "":
		return fmt.Errorf(own, "FailureConverter", f.FailureConverter)
	}
	return nil
}

// CompleteAsync ends a call whose body has returned, or will return, Temporal's
// activity.ErrResultPending: with the result, or with the error if that is not nil.
// It records the outcome first, under the token of the handle, and then sends what
// is recorded to Temporal. The options bound the one, and 10 s the other, however
// long ctx lasts. After an error that is neither [ErrStaleHandle] nor
// [ErrNotWaiting], call it again with the same handle: the first outcome that was
// recorded is the one that is sent. A *temporal.CanceledError answers a cancellation
// that Temporal asked for; then nothing is recorded.
func CompleteAsync(ctx context.Context, o AsyncOptions, h Handle, result any, err error) error {
	if invalid := h.f.validate(); invalid != nil {
		return invalid
	}
	if invalid := o.validate(h.f); invalid != nil {
		return invalid
	}
	if errors.Is(err, sdkactivity.ErrResultPending) {
		return errors.New("dedupe: CompleteAsync was called with ErrResultPending, which completes nothing")
	}
	o = o.withDefaults()
	t := telemetry.NewCompleter(o.TracerProvider, o.MeterProvider)
	c := &completion{o: o, f: h.f, encoding: encoding{data: o.DataConverter, failing: o.FailureConverter}}
	ctx, c.span = t.Start(ctx, c.spanAttributes)
	defer c.span.End()
	outcome, err := c.complete(ctx, result, err)
	c.span.Ended(outcome)
	t.Ended(ctx, h.f.Namespace, h.f.ActivityType, outcome)
	return err
}
