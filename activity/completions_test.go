package activity_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// fromOutside are completions, by how they end.
var fromOutside = map[telemetry.Outcome]func(p *paths, c *completer) error{
	telemetry.Completed: func(_ *paths, c *completer) error { return c.complete(c.hand(), markResult, nil) },
	telemetry.Failed:    func(_ *paths, c *completer) error { return c.complete(c.hand(), nil, errMarked) },
	telemetry.Canceled: func(_ *paths, c *completer) error {
		return c.complete(c.hand(), nil, temporal.NewCanceledError(markDetail))
	},
	telemetry.ResultTooLarge: func(p *paths, _ *completer) error {
		c := p.completer(withPolicy(activity.Policy{MaxResultBytes: 4}))
		return c.complete(c.hand(), markResult, nil)
	},
	telemetry.NotWaiting: func(_ *paths, c *completer) error {
		h := c.hand()
		c.temporal.fail = serviceerror.NewNotFound("activity not found")
		return c.complete(h, markResult, nil)
	},
	telemetry.Stale: func(_ *paths, c *completer) error {
		h := c.hand()
		r := c.record("1")
		_, err := c.store.Settle(context.Background(), []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeFail}})
		return errors.Join(c.complete(h, markResult, nil), err)
	},
	telemetry.Incomplete: func(_ *paths, c *completer) error {
		h := c.hand()
		c.temporal.fail = serviceerror.NewUnavailable("gone")
		return c.complete(h, markResult, nil)
	},
}

// completer makes a bundle of a path, and what completes its calls.
func (p *paths) completer(change ...func(*activity.Options)) *completer {
	c := p.setup(change...).completer()
	c.options.TracerProvider, c.options.MeterProvider = p.tape.tracers, p.tape.meters
	return c
}

func TestCompletionsFromOutsideAreTold(t *testing.T) {
	t.Parallel()
	require.Len(t, fromOutside, len(telemetry.Completions))
	for _, m := range telemetry.Completions {
		t.Run(string(m.Outcome), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &paths{T: t, tape: newTape(t)}
				_ = fromOutside[m.Outcome](p, p.completer())
				require.EqualValues(t, 1, p.tape.total(telemetry.CompletionMetric.Name))
				require.EqualValues(t, 1, p.tape.with(telemetry.CompletionMetric.Name, string(m.Outcome)))

				spans := p.tape.spans.Ended()
				require.Len(t, spans, 2)
				execution, completion := spans[0], spans[1]
				require.Equal(t, telemetry.SpanCompletion, completion.Name())
				require.Equal(t, m.Wrong, completion.Status().Code == codes.Error)
				require.Len(t, completion.Links(), 1, "to the execution that handed it over")
				require.Equal(t, execution.SpanContext().SpanID(), completion.Links()[0].SpanContext.SpanID())
				got, want := attribute.NewSet(completion.Attributes()...), attribute.NewSet(execution.Attributes()...)
				for _, key := range []attribute.Key{telemetry.AttrActivityType, telemetry.AttrKey} {
					same, _ := want.Value(key)
					value, _ := got.Value(key)
					require.Equal(t, same, value, key)
				}
				outcome, _ := got.Value(telemetry.AttrOutcome)
				require.Equal(t, string(m.Outcome), outcome.AsString())
			})
		})
	}
}

func TestACompletionDoesNotFailForItsMetric(t *testing.T) {
	t.Parallel()
	c := setup(t).completer()
	unfit := metric.NewView(metric.Instrument{Name: "dedupe.*"}, metric.Stream{Aggregation: metric.AggregationLastValue{}})
	c.options.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()), metric.WithView(unfit))
	require.NoError(t, c.complete(c.hand(), markResult, nil))
	require.Equal(t, store.StatusCompleted, c.record("1").Status)
}

// deaf does not answer Get before the call's context is done.
type deaf struct{ store.Store }

func (d deaf) Get(ctx context.Context, _ string) (store.Record, error) {
	<-ctx.Done()
	return store.Record{}, ctx.Err()
}

func TestEveryCallOfTheStoreByACompletionIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := setup(t).completer()
		h := c.hand()
		c.options.Store = deaf{c.store}
		begun := time.Now()
		require.Error(t, c.complete(h, "paid", nil))
		require.LessOrEqual(t, time.Since(begun), 6*time.Second, "StoreCallTimeout bounds one call of the store: 5 s")
	})
}
