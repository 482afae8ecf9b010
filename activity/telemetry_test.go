package activity_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// tour runs every path and returns what was emitted, and the errors that left.
func tour(t *testing.T) (*tape, []error) {
	t.Helper()
	p := &paths{T: t, tape: newTape(t)}
	for _, path := range allPaths {
		path.run(p)
	}
	for _, drain := range p.drain {
		require.NoError(t, drain(context.Background()))
	}
	return p.tape, p.errs
}

// Golden: what is emitted is what is declared, and the other way round.
func TestMetricsAreThoseDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tape, _ := tour(t)
		maintenance, err := telemetry.New(nil, tape.meters)
		require.NoError(t, err)
		s := maintenance.Store(unreliable(t).Store)
		for _, err := range []error{nil, store.ErrUnavailable} {
			maintenance.Evicted(store.Pass{Removed: 3, Held: 2, Err: err})
		}
		_, err = s.Evict(context.Background(), 1)
		require.NoError(t, err)

		emitted := tape.collect()
		var declared []string
		for _, d := range telemetry.Metrics {
			declared = append(declared, d.Name)
			m, ok := emitted[d.Name]
			require.True(t, ok, "%s is declared, and no path emits it", d.Name)
			require.Equal(t, d.Unit, m.Unit, d.Name)
			require.Equal(t, d.Description, m.Description, d.Name)
			kind, sets := pointsOf(t, m)
			require.Equal(t, d.Kind, kind, d.Name)
			require.NotEmpty(t, sets, d.Name)
			if kind == telemetry.Counter {
				require.Positive(t, tape.total(d.Name), "%s is declared, and no path counts it", d.Name)
			}
			for _, set := range sets {
				var keys []attribute.Key
				for _, kv := range set.ToSlice() {
					keys = append(keys, kv.Key)
				}
				require.ElementsMatch(t, d.Attributes, keys, d.Name)
			}
		}
		require.ElementsMatch(t, declared, slices.Collect(maps.Keys(emitted)))
		requireFewValues(t, emitted)
	})
}

// pointsOf returns a metric's kind, and the attributes of its points.
func pointsOf(t *testing.T, m metricdata.Metrics) (kind telemetry.Kind, sets []attribute.Set) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind = telemetry.UpDownCounter
		if data.IsMonotonic {
			kind = telemetry.Counter
		}
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Gauge[int64]:
		kind = telemetry.Gauge
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		kind = telemetry.Histogram
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	default:
		require.Failf(t, "no such kind", "%s has %T", m.Name, data)
	}
	return kind, sets
}

// requireFewValues asserts that no attribute holds anything but a name out of a
// short list: no key, no ID, nothing of a call.
func requireFewValues(t *testing.T, emitted map[string]metricdata.Metrics) {
	t.Helper()
	allowed := map[attribute.Key][]string{
		telemetry.AttrActivityType: {"Charge"},
		telemetry.AttrNamespace:    {"default-test-namespace"},
		telemetry.AttrSource:       {"workflow", "invocation"},
		telemetry.AttrOperation:    {"reserve", "acquire", "renew", "settle", "get", "evict"},
		telemetry.AttrOutcome:      {"ok", "error", "renewed", "lost", "locked", "canceled"},
	}
	var seen []string
	for _, o := range slices.Concat(telemetry.Outcomes, telemetry.Completions) {
		allowed[telemetry.AttrOutcome] = append(allowed[telemetry.AttrOutcome], string(o.Outcome))
	}
	for _, m := range emitted {
		_, sets := pointsOf(t, m)
		for _, set := range sets {
			for _, kv := range set.ToSlice() {
				require.Contains(t, allowed[kv.Key], kv.Value.AsString(), "%s: %s", m.Name, kv.Key)
				if m.Name == telemetry.OutcomeMetric.Name && kv.Key == telemetry.AttrOutcome {
					seen = append(seen, kv.Value.AsString())
				}
			}
		}
	}
	for _, o := range telemetry.Outcomes {
		require.Contains(t, seen, string(o.Outcome), "no path ends like this")
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tape, _ := tour(t)
		events := map[string]bool{}
		executions := 0
		for _, s := range tape.spans.Ended() {
			attrs := attribute.NewSet(s.Attributes()...)
			key, _ := attrs.Value(telemetry.AttrKey)
			require.Len(t, key.AsString(), 12, s.Name())
			if s.Name() == telemetry.SpanCompletion {
				continue
			}
			for _, must := range []attribute.Key{telemetry.AttrScope, telemetry.AttrAttempt, telemetry.AttrSource, telemetry.AttrActivityType} {
				require.True(t, attrs.HasValue(must), "%s without %s", s.Name(), must)
			}
			for _, e := range s.Events() {
				require.Contains(t, telemetry.Events, e.Name)
				events[e.Name] = true
			}
			if s.Name() == telemetry.SpanSettle {
				continue
			}
			require.Equal(t, telemetry.SpanExecution, s.Name())
			require.True(t, attrs.HasValue(telemetry.AttrOutcome), "an execution without an outcome: %v", s.Attributes())
			executions++
		}
		for _, e := range telemetry.Events {
			require.True(t, events[e], "no path has event %s", e)
		}
		require.Len(t, tape.spans.Ended(), len(tape.spans.Started()), "every span ends")
		// One span for each execution, but for those that were refused before
		// they had a record to ask for.
		_, sets := pointsOf(t, tape.collect()[telemetry.OutcomeMetric.Name])
		require.NotEmpty(t, sets)
		require.EqualValues(t, tape.total(telemetry.OutcomeMetric.Name)-tape.with(telemetry.OutcomeMetric.Name, "header_required")-
			tape.with(telemetry.OutcomeMetric.Name, "no_fingerprint"), executions)
		require.Zero(t, tape.total(telemetry.InFlightMetric.Name), "nothing is left in flight")
	})
}

func TestAReplayPointsAtTheExecutionItRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paths{T: t, tape: newTape(t)}
		b := p.setup()
		var inBody string
		p.call(b, func(ctx context.Context, _ string) (string, error) {
			inBody = telemetry.TraceParent(ctx)
			return markResult, nil
		})
		p.call(b, succeeds)
		spans := p.tape.spans.Ended()
		require.Len(t, spans, 2)
		first, replay := spans[0], spans[1]
		require.Equal(t, b.record("1").TraceParent, traceParentOf(first), "the record names the span of the execution")
		require.Equal(t, traceParentOf(first), inBody, "the body's own spans stand below it")
		require.Empty(t, first.Links())
		require.Len(t, replay.Links(), 1)
		require.Equal(t, first.SpanContext().TraceID(), replay.Links()[0].SpanContext.TraceID())
		require.Equal(t, first.SpanContext().SpanID(), replay.Links()[0].SpanContext.SpanID())
		require.NotEqual(t, first.SpanContext().TraceID(), replay.SpanContext().TraceID())
		attrs := attribute.NewSet(replay.Attributes()...)
		outcome, _ := attrs.Value(telemetry.AttrOutcome)
		require.Equal(t, "replayed", outcome.AsString())
		require.Equal(t, codes.Unset, replay.Status().Code)
	})
}

func traceParentOf(s trace.ReadOnlySpan) string {
	c := s.SpanContext()
	return fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags())
}

func TestWithoutAProviderNothingIsNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *activity.Options) { o.MeterProvider = nil })
	_, err := b.run(1, counted(new(int)), "10 EUR")
	require.NoError(t, err)
	require.Empty(t, b.record("1").TraceParent)
}

// Keys, hashes and errors are for whoever looks after a system, who need not be
// allowed to see what it works on.
func TestNothingEmittedQuotesArgumentsOrResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tape, errs := tour(t)
		inside, outside := tape.logged()
		require.NotEmpty(t, inside)
		require.NotEmpty(t, outside)
		emitted := append(slices.Clone(inside), outside)
		for _, line := range inside {
			require.Contains(t, line, "DedupeKey", "a line without the short key")
		}
		for _, err := range errs {
			emitted = append(emitted, fmt.Sprintf("%+v", err))
		}
		for _, s := range tape.spans.Ended() {
			emitted = append(emitted, fmt.Sprint(s.Name(), s.Attributes(), s.Events(), s.Status(), s.Links()))
		}
		emitted = append(emitted, fmt.Sprint(tape.collect()))
		for _, text := range emitted {
			for _, mark := range []string{markArg, markResult, markError, markDetail, "mark-"} {
				require.NotContains(t, text, mark)
			}
		}
		require.NotEmpty(t, errs)
		require.Contains(t, strings.Join(inside, ""), "the verifier failed")
	})
}

func TestRetriesThatOutliveTheRecordAreToldOnceForAType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retention time.Duration
		local     bool
		want      string
	}{
		"beyond retention":     {retention: 9 * time.Minute, want: "ActivityType Charge ScheduleToCloseTimeout 10m0s Retention 9m0s DedupeKey "},
		"as long as retention": {retention: 10 * time.Minute},
		"of a local activity":  {retention: 9 * time.Minute, local: true}, // 10 s
		"of a retention unset": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tape := newTape(t)
			b := setup(t, tape.providers(), withPolicy(activity.Policy{Retention: c.retention}))
			b.log = tape
			for n := range 2 {
				var err error
				if body := counted(new(int)); c.local {
					_, err = b.env(n+1).ExecuteLocalActivity(charging(body).Charge, "10 EUR")
				} else {
					_, err = b.run(n+1, body, "10 EUR")
				}
				require.NoError(t, err)
			}
			lines, _ := tape.logged()
			if c.want == "" {
				require.Empty(t, lines)
				return
			}
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], c.want)
		})
	}
}
