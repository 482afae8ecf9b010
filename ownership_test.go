package dedupe_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// callWith is a workflow that makes one call.
func callWith(o workflow.ActivityOptions, businessKey string) func(workflow.Context) (string, error) {
	return func(ctx workflow.Context) (string, error) {
		ctx = workflow.WithActivityOptions(ctx, o)
		if businessKey != "" {
			ctx = dedupe.WithBusinessKey(ctx, businessKey)
		}
		var got string
		err := workflow.ExecuteActivity(ctx, "Work").Get(ctx, &got)
		return got, err
	}
}

// typed is a data converter written by hand, which does not know raw values.
type typed struct{ converter.DataConverter }

func (c typed) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	for _, v := range values {
		if _, raw := v.(converter.RawValue); raw {
			return nil, errors.New("a value of no known type")
		}
	}
	return c.DataConverter.ToPayloads(values...)
}

func (c typed) FromPayloads(p *commonpb.Payloads, into ...any) error {
	for _, v := range into {
		if _, raw := v.(*converter.RawValue); raw {
			return errors.New("a value of no known type")
		}
	}
	return c.DataConverter.FromPayloads(p, into...)
}

func TestOwnership(t *testing.T) {
	t.Parallel()

	t.Run("an attempt that runs on for three times its timeout runs once, and a later attempt gets its result", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin())
		var bodies atomic.Int32
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(callWith(workflow.ActivityOptions{StartToCloseTimeout: 2 * time.Second}, ""), workflow.RegisterOptions{Name: "call"})
			register(r, "Work", func(context.Context) (string, error) {
				bodies.Add(1)
				<-time.After(6 * time.Second) // whatever its context says
				return "the first attempt's", nil
			})
		})
		var got string
		require.NoError(t, b.start(c, b.queue, "call").Get(t.Context(), &got))
		require.Equal(t, "the first attempt's", got)
		require.EqualValues(t, 1, bodies.Load())
	})

	for name, c := range map[string]struct {
		data     converter.DataConverter
		attempts int32
	}{
		"a wait outlives the heartbeat timeout, and the user's details outlive the wait": {converter.GetDefaultDataConverter(), 3},
		"a wait comes back before the heartbeat timeout where it would lose the details": {typed{converter.GetDefaultDataConverter()}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			client := b.clientWith(client.Options{DataConverter: c.data}, b.plugin())
			details := make(chan string, 3)
			b.work(client, b.queue, func(r worker.Registry) {
				r.RegisterWorkflowWithOptions(callWith(workflow.ActivityOptions{
					StartToCloseTimeout: 50 * time.Second, HeartbeatTimeout: 1500 * time.Millisecond,
					RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: c.attempts},
				}, ""), workflow.RegisterOptions{Name: "call"})
				register(r, "Work", func(ctx context.Context) (string, error) {
					if !sdkactivity.HasHeartbeatDetails(ctx) {
						sdkactivity.RecordHeartbeat(ctx, "page", 7)
						<-time.After(10 * time.Second) // owns the call, and heartbeats no more
						return "", errors.New("failed after ten seconds")
					}
					var name string
					var page int
					if err := sdkactivity.GetHeartbeatDetails(ctx, &name, &page); err != nil {
						return "", err
					}
					details <- name
					return "done", nil
				})
			})
			var got string
			require.NoError(t, b.start(client, b.queue, "call").Get(t.Context(), &got))
			require.Equal(t, "done", got)
			require.Equal(t, "page", <-details)
		})
	}

	for _, c := range []struct {
		name    string
		options workflow.ActivityOptions
	}{
		{"on its only attempt", workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}},
		{"on its last two attempts", workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}}},
		{"when schedule-to-close ends soon", workflow.ActivityOptions{ScheduleToCloseTimeout: 9 * time.Second}},
		{"when the retry policy makes the answer final", workflow.ActivityOptions{
			RetryPolicy: &temporal.RetryPolicy{NonRetryableErrorTypes: []string{dedupe.ErrTypeInFlight}}}},
	} {
		t.Run("in flight is never a final failure "+c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			client := b.client(b.plugin())
			started := make(chan struct{})
			c.options.StartToCloseTimeout = 20 * time.Second
			b.work(client, b.queue, func(r worker.Registry) {
				r.RegisterWorkflowWithOptions(callWith(workflow.ActivityOptions{StartToCloseTimeout: time.Minute}, b.queue), workflow.RegisterOptions{Name: "owner"})
				r.RegisterWorkflowWithOptions(callWith(c.options, b.queue), workflow.RegisterOptions{Name: "second"})
				register(r, "Work", func(context.Context) (string, error) {
					close(started)
					<-time.After(5 * time.Second)
					return "the owner's", nil
				})
			})
			owner := b.start(client, b.queue+"-owner", "owner")
			<-started
			second := b.start(client, b.queue+"-second", "second")
			var got string
			require.NoError(t, second.Get(t.Context(), &got))
			require.Equal(t, "the owner's", got)
			require.NoError(t, owner.Get(t.Context(), nil))
		})
	}

	t.Run("in flight is never a final failure of a local activity, whose retries by a timer have a new scheduled time", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin())
		started := make(chan struct{})
		var bodies atomic.Int32
		b.work(c, b.queue, func(r worker.Registry) {
			registerWorkflow(r, "call", func(ctx workflow.Context, o workflow.LocalActivityOptions) (got string, err error) {
				o.RetryPolicy = &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond}
				ctx = dedupe.WithBusinessKey(workflow.WithLocalActivityOptions(ctx, o), b.queue)
				err = workflow.ExecuteLocalActivity(ctx, "Work").Get(ctx, &got)
				return got, err
			})
			register(r, "Work", func(context.Context) (string, error) {
				bodies.Add(1)
				close(started)
				<-time.After(9 * time.Second)
				return "the owner's", nil
			})
		})
		begin := func(id string, o workflow.LocalActivityOptions) client.WorkflowRun {
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: b.queue + id, TaskQueue: b.queue, WorkflowTaskTimeout: time.Second, WorkflowExecutionTimeout: time.Minute,
			}, "call", o)
			require.NoError(t, err)
			return run
		}
		owner := begin("-owner", workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
		<-started
		var got string
		require.NoError(t, begin("-second", workflow.LocalActivityOptions{
			ScheduleToCloseTimeout: 12 * time.Second, StartToCloseTimeout: 3 * time.Second,
		}).Get(t.Context(), &got))
		require.Equal(t, "the owner's", got)
		require.NoError(t, owner.Get(t.Context(), nil))
		require.EqualValues(t, 1, bodies.Load())
	})
}
