package dedupe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

func TestCompletingFromOutside(t *testing.T) {
	t.Parallel()

	t.Run("the workflow gets the result as it was encoded, once, and a second completion has nothing to do", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		require.NoError(t, s.complete(h, "paid", nil))
		s.requireResult(run, "paid", 1)
		require.ErrorIs(t, s.complete(h, "paid again", nil), dedupe.ErrNotWaiting)
		require.ErrorIs(t, s.complete(h, nil, errors.New("failed after all")), dedupe.ErrStaleHandle)
	})

	t.Run("when the completer crashes between our record and Temporal, it completes again with what it recorded", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		s.crash.Store(true)
		require.ErrorContains(t, s.complete(h, "first", nil), "crashed")
		require.Equal(t, store.StatusCompleted, s.record().Status)
		require.NoError(t, s.complete(h, "second", nil))
		s.requireResult(run, "first", 1)
	})

	t.Run("and if it never does, the next attempt replays", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		s.crash.Store(true)
		require.Error(t, s.complete(h, "first", nil))
		s.requireResult(run, "first", 1)
	})

	t.Run("it completes before the hand-off", func(t *testing.T) {
		t.Parallel()
		var early error
		s := newOutside(t, func(s *outside) {
			s.before = func(_ context.Context, h dedupe.Handle) { early = s.complete(h, "early", nil) }
		})
		run := s.start(s.client, s.queue, "call")
		s.requireResult(run, "early", 1)
		<-s.handles
		require.NoError(t, early)
		require.False(t, s.record().Pending)
	})

	t.Run("and crashes there, and the attempt itself answers", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t, func(s *outside) {
			s.crash.Store(true)
			s.before = func(_ context.Context, h dedupe.Handle) { _ = s.complete(h, "early", nil) }
		})
		s.requireResult(s.start(s.client, s.queue, "call"), "early", 1)
		require.False(t, s.crash.Load())
	})

	t.Run("a body that goes on after its completion is told to stop", func(t *testing.T) {
		t.Parallel()
		causes := make(chan error, 1)
		s := newOutside(t, func(s *outside) {
			s.before = func(ctx context.Context, h dedupe.Handle) {
				_ = s.complete(h, "early", nil)
				<-ctx.Done()
				causes <- context.Cause(ctx)
			}
		})
		s.requireResult(s.start(s.client, s.queue, "call"), "early", 1)
		require.ErrorIs(t, <-causes, dedupe.ErrLeaseLost)
	})

	t.Run("it completes a later attempt than the one that handed over", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		s.attempt(run, 2)
		require.NoError(t, s.complete(h, "late", nil))
		s.requireResult(run, "late", 1)
	})

	t.Run("after a takeover it is refused", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		first := s.pending()
		s.ahead.Store(int64(time.Minute)) // past the attempt and the grace
		second := <-s.handles
		s.requirePending()
		require.ErrorIs(t, s.complete(first, "too late", nil), dedupe.ErrStaleHandle)
		require.NoError(t, s.complete(second, "in time", nil))
		s.requireResult(run, "in time", 2)
	})

	t.Run("under Refuse a call that was not completed in time is held, until its completion comes", func(t *testing.T) {
		t.Parallel()
		s := newOutsideWith(t, dedupe.Policy{Takeover: dedupe.Refuse}, asyncOptions)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		s.ahead.Store(int64(time.Minute))
		requireErrType(t, run.Get(t.Context(), nil), dedupe.ErrTypeOutcomeUnknown)
		require.True(t, s.record().Held)
		require.ErrorIs(t, s.complete(h, "the truth", nil), dedupe.ErrNotWaiting)
		require.False(t, s.record().Held)
		s.requireResult(s.reset(s.client, run, 1), "the truth", 1)
	})

	t.Run("a failure is retried, a final one is not", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		require.NoError(t, s.complete(s.pending(), nil, errors.New("try again")))
		h := <-s.handles
		s.requirePending()
		require.NoError(t, s.complete(h, nil, temporal.NewNonRetryableApplicationError("declined", "Declined", nil)))
		requireErrType(t, run.Get(t.Context(), nil), "Declined")
		require.EqualValues(t, 2, s.bodies.Load())
		require.True(t, s.record().NonRetryable)
	})

	t.Run("a run that a reset made waits for the completion that the old one handed over", func(t *testing.T) {
		t.Parallel()
		s := newOutsideWith(t, dedupe.Policy{}, patient)
		run := s.start(s.client, s.queue, "call")
		h := s.pending()
		again := s.reset(s.client, run, 1)
		s.attempt(again, 1)
		require.ErrorIs(t, s.complete(h, "paid", nil), dedupe.ErrNotWaiting)
		s.requireResult(again, "paid", 1)
	})

	t.Run("a call under the same business key waits for it too", func(t *testing.T) {
		t.Parallel()
		s := newOutsideWith(t, dedupe.Policy{}, patient)
		first := s.start(s.client, s.queue+"-1", "pay")
		h := s.pending()
		second := s.start(s.client, s.queue+"-2", "pay")
		s.attempt(second, 1)
		require.NoError(t, s.complete(h, "paid", nil))
		s.requireResult(first, "paid", 1)
		s.requireResult(second, "paid", 1)
	})

	t.Run("Temporal's own client leaves the record pending", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		run := s.start(s.client, s.queue, "call")
		s.pending()
		r := s.record()
		require.NoError(t, s.client.CompleteActivityByID(t.Context(), r.Namespace, r.WorkflowID, r.RunID, r.ActivityID, "paid", nil))
		s.requireResult(run, "paid", 1)
		require.True(t, s.record().Pending)
	})

	t.Run("a standalone activity is completed as well", func(t *testing.T) {
		t.Parallel()
		s := newOutside(t)
		started, err := s.client.ExecuteActivity(t.Context(), client.StartActivityOptions{
			ID: s.queue, TaskQueue: s.queue, StartToCloseTimeout: time.Minute,
		}, "Work")
		require.NoError(t, err)
		require.NoError(t, s.complete(<-s.handles, "paid", nil))
		var got string
		require.NoError(t, started.Get(t.Context(), &got))
		require.Equal(t, "paid", got)
	})

	t.Run("a local activity cannot be handed over, and its record is not pending", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := b.client(b.plugin())
		panicked := make(chan any, 10)
		b.work(c, b.queue, func(r worker.Registry) {
			register(r, "Work", func(ctx context.Context) (string, error) {
				func() {
					defer func() { panicked <- recover() }()
					dedupe.PendingHandle(ctx)
				}()
				return "", sdkactivity.ErrResultPending
			})
			registerWorkflow(r, "call", localCall)
		})
		require.Error(t, b.start(c, b.queue, "call").Get(t.Context(), nil))
		require.Contains(t, <-panicked, "local activity")
	})
}

func TestCompletingFromOutsideInEveryStore(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]func(*testing.T) store.Store{
		"Postgres": func(t *testing.T) store.Store {
			t.Helper()
			_, s := requirePostgres(t, 4)
			return s
		},
		"Redis": func(t *testing.T) store.Store {
			t.Helper()
			s, err := redisstore.New(t.Context(), localredistest.RequireClient(t, localredistest.RequireServer(t, localredis.Options{})), redisstore.Options{})
			require.NoError(t, err)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &outside{}
			s.open(t, records(t), dedupe.Policy{}, patient)
			run := s.start(s.client, s.queue, "call")
			h := s.pending()
			s.crash.Store(true)
			require.ErrorContains(t, s.complete(h, "first", nil), "crashed")
			require.NoError(t, s.complete(h, "second", nil))
			s.requireResult(run, "first", 1)
			require.ErrorIs(t, s.complete(h, "third", nil), dedupe.ErrNotWaiting)
			require.ErrorIs(t, s.complete(h, nil, errors.New("failed after all")), dedupe.ErrStaleHandle)
			require.Equal(t, store.StatusCompleted, s.record().Status)
		})
	}
}
