package activity_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/owner"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// begin begins the transaction of a body, as a store does.
func begin(t *testing.T, ctx context.Context) owner.Transaction { //nolint:revive // t comes first in helpers
	t.Helper()
	tx, err := owner.From(ctx).Begin()
	require.NoError(t, err)
	return tx
}

func TestTransaction(t *testing.T) {
	t.Parallel()

	t.Run("what a body makes of a commit that nobody knows of is no result", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(ctx context.Context) (string, error) {
			tx := begin(t, ctx)
			_, remember, err := tx.Complete(ctx, "transferred")
			require.NoError(t, err)
			require.True(t, remember)
			tx.Committing()
			require.ErrorIs(t, tx.Doubtful(errDown), errDown)
			_, err = owner.From(ctx).Begin()
			require.ErrorContains(t, err, "InTx was called before")
			_, err = activity.Do(ctx, "mail", func(context.Context) (int, error) { panic("must not run") })
			require.Error(t, err)
			return "did not see it", nil
		})
		requireErrType(t, err, activity.ErrTypeStoreUnavailable)
		r := b.record("1")
		require.Equal(t, store.StatusInProgress, r.Status, "the next attempt finds out")
		require.True(t, r.EffectPossible)
		require.Nil(t, r.Failure)
	})

	t.Run("one that was carried out after all is the answer at once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		got, err := b.run(1, func(ctx context.Context) (string, error) {
			tx := begin(t, ctx)
			s, _, err := tx.Complete(ctx, "transferred")
			require.NoError(t, err)
			tx.Committing()
			settled, err := b.store.Settle(ctx, []store.Settlement{s})
			require.NoError(t, err)
			require.Equal(t, []store.Settled{store.SettledApplied}, settled)
			return "", tx.Doubtful(errDown)
		})
		require.NoError(t, err)
		var result string
		require.NoError(t, got.Get(&result))
		require.Equal(t, "transferred", result)
	})

	t.Run("one that has committed is a settlement on the span", func(t *testing.T) {
		t.Parallel()
		spans := tracetest.NewSpanRecorder()
		b := setup(t, func(o *activity.Options) {
			o.TracerProvider = trace.NewTracerProvider(trace.WithSpanProcessor(spans))
		})
		_, err := b.run(1, func(ctx context.Context) (string, error) {
			tx := begin(t, ctx)
			s, _, err := tx.Complete(ctx, "transferred")
			require.NoError(t, err)
			tx.Committing()
			_, err = b.store.Settle(ctx, []store.Settlement{s})
			require.NoError(t, err)
			tx.Committed()
			return "transferred", nil
		})
		require.NoError(t, err)
		var settled []string
		for _, e := range spans.Ended()[0].Events() {
			if e.Name == telemetry.EventSettled {
				for _, a := range e.Attributes {
					settled = append(settled, a.Value.AsString())
				}
			}
		}
		require.Equal(t, []string{"complete", "applied"}, settled)
	})

	t.Run("the lease is not renewed while a transaction commits, and is again when it has failed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &faulty{Store: setup(t).store}
			b := setup(t, withStore(s))
			env := b.env(1)
			env.SetTestTimeout(time.Hour)
			_, err := runIn(env, func(ctx context.Context) (string, error) {
				tx := begin(t, ctx)
				tx.Committing()
				time.Sleep(20 * time.Second) //nolint:forbidigo // fake clock
				require.Zero(t, s.renewals.Load())
				tx.RolledBack()
				time.Sleep(20 * time.Second) //nolint:forbidigo // fake clock
				require.Positive(t, s.renewals.Load())
				tx = begin(t, ctx)
				tx.RolledBack()
				return "", errAfter
			})
			require.ErrorContains(t, err, errAfter.Error())
		})
	})

	t.Run("another's result is taken only where the call would be answered with it", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(ctx context.Context) (string, error) {
			tx := begin(t, ctx)
			s, _, err := tx.Complete(ctx, "transferred")
			require.NoError(t, err)
			found, err := b.store.Get(ctx, tx.Lease().Key)
			require.NoError(t, err)
			into := ""
			for name, change := range map[string]func(r *store.Record){
				"in progress":       func(r *store.Record) { r.Status = store.StatusInProgress },
				"other arguments":   func(r *store.Record) { r.Hash, r.Invocation = "v1::abcd", "other" },
				"another execution": func(r *store.Record) { r.Lineage = "other" },
				"a tombstone":       func(r *store.Record) { r.Tombstone = store.TombstonePurged },
				"a later version":   func(r *store.Record) { r.Version++ },
			} {
				r := found
				r.Status, r.Result = store.StatusCompleted, s.Result
				change(&r)
				answered, err := tx.Answer(ctx, r, &into)
				require.NoError(t, err)
				require.False(t, answered, name)
			}
			found.Status, found.Result = store.StatusCompleted, s.Result
			answered, err := tx.Answer(ctx, found, &into)
			require.NoError(t, err)
			require.True(t, answered)
			require.Equal(t, "transferred", into)
			found.Result = []byte("no payloads")
			_, err = tx.Answer(ctx, found, &into)
			require.ErrorContains(t, err, "cannot be read")
			require.ErrorIs(t, tx.Lost(), activity.ErrLeaseLost)
			require.ErrorIs(t, tx.Unavailable(context.Canceled), context.Canceled)
			tx.RolledBack()
			return "", errors.Join(errAfter, tx.Unavailable(errDown))
		})
		requireErrType(t, err, activity.ErrTypeStoreUnavailable)
	})
}
