package activity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// brokenKeys are converters whose codec has lost its keys, as those of the
// client's options panic then.
type brokenKeys struct {
	converter.DataConverter
	converter.FailureConverter
}

func (brokenKeys) ToPayloads(...any) (*commonpb.Payloads, error) { panic("no keys") }
func (brokenKeys) ErrorToFailure(error) *failurepb.Failure       { panic("no keys") }

// told is a failure converter that writes down what it is told of the activity.
type told struct {
	converter.FailureConverter
	about converter.SerializationContext
}

func (c told) WithSerializationContext(about converter.SerializationContext) converter.FailureConverter {
	return told{c.FailureConverter, about}
}

func (c told) ErrorToFailure(err error) *failurepb.Failure {
	f := c.FailureConverter.ErrorToFailure(err)
	f.Source = fmt.Sprintf("%+v", c.about)
	return f
}

func TestFailuresAreEncodedInTheContextOfTheirActivity(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("x") },
		"a panic":  func(context.Context) error { panic("x") },
	} {
		b := setup(t, func(o *activity.Options) {
			o.FailureConverter = told{FailureConverter: temporal.GetDefaultFailureConverter()}
		})
		_, err := b.run(1, body)
		require.Error(t, err, name)
		var f failurepb.Failure
		require.NoError(t, proto.Unmarshal(b.record("1").Failure, &f))
		for _, part := range []string{"WorkflowID:" + workflowID, "ActivityType:Charge", "Namespace:default-test-namespace", "IsLocal:false"} {
			require.Contains(t, f.GetSource(), part, name)
		}
	}
}

func TestConvertersThatPanic(t *testing.T) {
	t.Parallel()
	keys := brokenKeys{converter.GetDefaultDataConverter(), temporal.GetDefaultFailureConverter()}
	never := func(any) bool { panic("no idea") }
	for name, c := range map[string]struct {
		change func(*activity.Options)
		body   any
	}{
		"on a result": {func(o *activity.Options) { o.DataConverter = keys }, func(context.Context) (string, error) { return "x", nil }},
		"on an error": {func(o *activity.Options) { o.FailureConverter = keys }, func(context.Context) (string, error) { return "", errors.New("x") }},
		"on a final error": {func(o *activity.Options) { o.FailureConverter = keys }, func(context.Context) (string, error) {
			return "", temporal.NewNonRetryableApplicationError("x", "X", nil)
		}},
		"on a panic":              {func(o *activity.Options) { o.FailureConverter = keys }, func(context.Context) (string, error) { panic("x") }},
		"or IsFinal, on a result": {withPolicy(activity.Policy{IsFinal: never}), func(context.Context) (string, error) { return "x", nil }},
	} {
		t.Run(name+" leave a record that the next attempt can have at once", func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.change)
			for attempt := 1; attempt <= 2; attempt++ {
				_, err := b.run(1, c.body)
				require.Error(t, err)
				r := b.record("1")
				require.False(t, r.LeaseLive())
				require.True(t, r.EffectPossible)
				require.False(t, r.NonRetryable)
				require.Equal(t, attempt, r.Acquisitions)
				require.NotEqual(t, store.StatusCompleted, r.Status)
			}
		})
	}

	t.Run("during a verified result leave it as well", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Takeover: store.Verify, Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
			return activity.Done("x"), nil
		}}), func(o *activity.Options) { o.DataConverter = keys })
		m := meeting{policy: store.Verify, lineage: "run-1", settlement: store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}}
		m.leave(t, b, activity.Fingerprints(nil, "w/default-test-namespace/"+workflowID+"/0/Charge/1", []byte{0})[0])
		_, err := b.run(1, func(context.Context) (string, error) { return "", nil })
		require.Error(t, err)
		r := b.record("1")
		require.False(t, r.LeaseLive())
		require.True(t, r.EffectPossible)
	})
}
