package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

var errAfterEffect = errors.New("failed after the effect")

// performs runs one activity in a workflow of its own, with retries.
func (b *bundle) performs(c client.Client, call func(workflow.Context) (string, error), body any) (string, error) {
	b.t.Helper()
	b.work(c, b.queue, func(r worker.Registry) {
		r.RegisterWorkflowWithOptions(call, workflow.RegisterOptions{Name: "call"})
		register(r, "Work", body)
	})
	var receipt string
	err := b.start(c, b.queue, "call").Get(b.t.Context(), &receipt)
	return receipt, err
}

// regularly and locally call the activity.
func regularly(ctx workflow.Context) (receipt string, err error) {
	err = workflow.ExecuteActivity(options(ctx), "Work").Get(ctx, &receipt)
	return receipt, err
}

func locally(ctx workflow.Context) (receipt string, err error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 5},
	})
	err = workflow.ExecuteLocalActivity(ctx, "Work").Get(ctx, &receipt)
	return receipt, err
}

func TestEffects(t *testing.T) {
	t.Parallel()

	for name, call := range map[string]func(workflow.Context) (string, error){"an activity": regularly, "a local activity": locally} {
		t.Run("in "+name+" they are made once, over errors and panics, and encrypted like its result", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool := b.inPostgres()
			c := b.wired(encrypted("encrypted", newKey), nil, b.pluginWith(dedupe.Options{}))
			var attempts, charges, mails atomic.Int32
			receipt, err := b.performs(c, call, func(ctx context.Context) (string, error) {
				attempt := attempts.Add(1)
				receipt, err := dedupe.Do(ctx, "charge", func(context.Context) (string, error) {
					return fmt.Sprint("receipt ", charges.Add(1)), nil
				})
				if err != nil || attempt == 1 {
					return "", errors.Join(errAfterEffect, err)
				}
				_, err = dedupe.Do(ctx, "mail", func(context.Context) (int32, error) { return mails.Add(1), nil })
				if err != nil || attempt == 2 {
					panic(fmt.Sprint("boom", err))
				}
				return receipt, nil
			})
			require.NoError(t, err)
			require.Equal(t, "receipt 1", receipt)
			require.Equal(t, []int32{3, 1, 1}, []int32{attempts.Load(), charges.Load(), mails.Load()})
			var records, clear int
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE position('receipt'::bytea IN response_body) > 0)
				FROM idempotency_records WHERE workflow_id = $1 AND status = 'completed'`, b.queue).Scan(&records, &clear))
			require.Equal(t, 3, records)
			require.Zero(t, clear)
		})
	}

	t.Run("a definite failure is replayed to the retries of its scheduling", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.inPostgres()
		var attempts, charges atomic.Int32
		receipt, err := b.performs(b.client(b.plugin()), regularly, func(ctx context.Context) (string, error) {
			_, err := dedupe.Do(ctx, "charge", func(context.Context) (int, error) {
				charges.Add(1)
				return 0, temporal.NewNonRetryableApplicationError("declined", "Declined", nil, "code 51")
			})
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, "Declined", app.Type())
			var code string
			require.NoError(t, app.Details(&code))
			if attempts.Add(1) < 3 {
				return "", errAfterEffect
			}
			return code, nil
		})
		require.NoError(t, err)
		require.Equal(t, "code 51", receipt)
		require.EqualValues(t, 1, charges.Load())
	})

	t.Run("what an effect's own fingerprint says is compared within one scheduling", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var amount atomic.Int32 // read by the body, and another one by the next attempt
		_, err := b.performs(b.client(b.plugin()), regularly, func(ctx context.Context) (string, error) {
			_, err := dedupe.DoWith(ctx, "charge", dedupe.DoOptions{Fingerprint: amount.Add(1)}, func(context.Context) (int, error) { return 1, nil })
			return "", errors.Join(errAfterEffect, err)
		})
		requireErrType(t, err, dedupe.ErrTypeConflict)
		require.EqualValues(t, 2, amount.Load())
	})

	t.Run("a worker that dies after an effect leaves it to the next one", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.inPostgres()
		// A body that never returns, on a worker that is gone: nothing is settled
		// but the effect.
		dead := make(chan struct{})
		defer close(dead)
		var charges, attempts atomic.Int32
		short := func(ctx workflow.Context) (receipt string, err error) {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 6 * time.Second,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond}})
			err = workflow.ExecuteActivity(ctx, "Work").Get(ctx, &receipt)
			return receipt, err
		}
		policy := dedupe.Policy{MaxOverrun: time.Millisecond}
		receipt, err := b.performs(b.client(b.plugin(policy)), short, func(ctx context.Context) (string, error) {
			receipt, err := dedupe.Do(ctx, "charge", func(context.Context) (string, error) {
				return fmt.Sprint("receipt ", charges.Add(1)), nil
			})
			if attempts.Add(1) == 1 {
				<-dead
			}
			return receipt, err
		})
		require.NoError(t, err)
		require.Equal(t, "receipt 1", receipt)
		require.EqualValues(t, 1, charges.Load())
		require.EqualValues(t, 2, attempts.Load())
	})

	t.Run("a hundred at once, in Postgres, wait for each other's looks at the lease", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.inPostgres()
		var made atomic.Int32
		sum, err := b.performs(b.client(b.plugin()), regularly, func(ctx context.Context) (string, error) {
			var all sync.WaitGroup
			errs := make([]error, 100)
			for i := range errs {
				all.Go(func() {
					_, errs[i] = dedupe.Do(ctx, fmt.Sprint("item ", i), func(context.Context) (int32, error) { return made.Add(1), nil })
				})
			}
			all.Wait()
			return fmt.Sprint(sdkactivity.GetInfo(ctx).Attempt), errors.Join(errs...)
		})
		require.NoError(t, err)
		require.Equal(t, "1", sum, "in the first attempt")
		require.EqualValues(t, 100, made.Load())
	})

	t.Run("outside an activity, and in one without a policy, there are none", func(t *testing.T) {
		t.Parallel()
		_, err := dedupe.Do(t.Context(), "charge", func(context.Context) (int, error) { panic("must not run") })
		require.ErrorIs(t, err, dedupe.ErrNotDeduplicated)
		b := setup(t)
		p, err := dedupe.NewPlugin(dedupe.Options{Store: b.store, Policies: dedupe.Policies{"Work": {Off: true}}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		got, err := b.performs(b.client(p), regularly, func(ctx context.Context) (string, error) {
			_, err := dedupe.Do(ctx, "charge", func(context.Context) (int, error) { panic("must not run") })
			require.ErrorIs(t, err, dedupe.ErrNotDeduplicated)
			return sdkactivity.GetInfo(ctx).ActivityType.Name, nil
		})
		require.NoError(t, err)
		require.Equal(t, "Work", got)
	})
}
