package activity_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// ends is a body that returns errors in turn and then succeeds, and notes the
// provider keys it saw.
type ends struct {
	errs []error
	runs int
	keys []activity.ProviderKey
}

func (e *ends) body(ctx context.Context) (string, error) {
	e.runs++
	e.keys = append(e.keys, activity.Key(ctx))
	if e.runs <= len(e.errs) {
		return "", e.errs[e.runs-1]
	}
	return "done", nil
}

var errDeclined = errors.New("card declined")

func TestHowABodyEnds(t *testing.T) {
	t.Parallel()

	t.Run("a retryable error is recorded and the next attempt runs again with the same provider key", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t), &ends{errs: []error{errDeclined}}
		_, err := b.run(1, e.body)
		require.ErrorContains(t, err, "card declined")
		r := b.record("1")
		require.Equal(t, store.StatusFailed, r.Status)
		require.True(t, r.EffectPossible)
		require.NotEmpty(t, r.Failure)

		_, err = b.run(1, e.body)
		require.NoError(t, err)
		require.Equal(t, e.keys[0], e.keys[1])
		require.Equal(t, 2, b.record("1").Acquisitions)
	})

	t.Run("a non-retryable error is final for its scheduling, and another one runs again", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t), &ends{errs: []error{temporal.NewNonRetryableApplicationError("no such account", "NoAccount", nil, "details")}}
		_, err := b.run(1, e.body)
		requireErrType(t, err, "NoAccount")
		r := b.record("1")
		require.True(t, r.NonRetryable)
		require.False(t, r.EffectPossible)

		// Each execution of the environment is a scheduling of its own.
		_, err = b.run(1, e.body)
		require.NoError(t, err)
		require.Equal(t, 2, e.runs)
	})

	t.Run("NoEffect lets the call run under every policy, with a new provider key", func(t *testing.T) {
		t.Parallel()
		for name, err := range map[string]error{
			"on top":  activity.NoEffect(errDeclined),
			"wrapped": fmt.Errorf("charge: %w", activity.NoEffect(errDeclined)),
			"twice":   activity.NoEffect(activity.NoEffect(errDeclined)),
		} {
			b, e := setup(t, withPolicy(activity.Policy{Takeover: store.Refuse})), &ends{errs: []error{err}}
			_, err := b.run(1, e.body)
			require.ErrorContains(t, err, "card declined", name)
			r := b.record("1")
			require.False(t, r.EffectPossible, name)
			require.Equal(t, 1, moved(r), name)
			_, err = b.run(1, e.body)
			require.NoError(t, err, name)
			require.NotEqual(t, e.keys[0], e.keys[1], name)
		}
	})

	t.Run("NoEffect does not undo an earlier owner's possible effect", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t), &ends{errs: []error{errDeclined, activity.NoEffect(errDeclined)}}
		for range 2 {
			_, err := b.run(1, e.body)
			require.Error(t, err)
		}
		r := b.record("1")
		require.True(t, r.EffectPossible)
		require.Zero(t, moved(r))
		_, err := b.run(1, e.body)
		require.NoError(t, err)
		require.Equal(t, e.keys[0], e.keys[2], "the provider key must not have moved")
	})

	t.Run("under Refuse an error leaves an unknown outcome, and the record is held", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t, withPolicy(activity.Policy{Takeover: store.Refuse})), &ends{errs: []error{errDeclined}}
		_, err := b.run(1, e.body)
		require.ErrorContains(t, err, "card declined")
		for range 2 {
			_, err = b.run(1, e.body)
			app := requireErrType(t, err, activity.ErrTypeOutcomeUnknown)
			require.True(t, app.NonRetryable())
			require.Contains(t, app.Message(), b.record("1").Key)
		}
		require.Equal(t, 1, e.runs)
		require.True(t, b.record("1").Held)
	})

	t.Run("a panic is recorded and goes on as it came", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(context.Context) error { panic("boom") })
		var panicked *temporal.PanicError
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "boom", panicked.Error())
		r := b.record("1")
		require.Equal(t, store.StatusFailed, r.Status)
		require.True(t, r.EffectPossible)
	})

	t.Run("a cancelled body is released once it has returned, and leaves no failure", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		env := b.env(1)
		worker, stop := context.WithCancel(context.Background())
		env.SetWorkerOptions(workerOptions(b, worker))
		_, err := runIn(env, func(ctx context.Context) error {
			require.Equal(t, store.StatusInProgress, b.record("1").Status)
			stop()
			<-ctx.Done()
			return ctx.Err()
		})
		require.Error(t, err)
		r := b.record("1")
		require.Equal(t, store.StatusInProgress, r.Status)
		require.Empty(t, r.Failure)
		require.True(t, r.EffectPossible)

		e := &ends{}
		_, err = b.run(1, e.body)
		require.NoError(t, err)
		require.Equal(t, 1, e.runs)
	})

	t.Run("a body that ends by its own deadline has failed, and people can read how", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t)
			env := b.env(1)
			attempt, stop := context.WithTimeout(context.Background(), time.Second)
			defer stop()
			env.SetWorkerOptions(workerOptions(b, attempt))
			_, err := runIn(env, func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("the provider did not answer in time")
			})
			require.Error(t, err)
			r := b.record("1")
			require.Equal(t, store.StatusFailed, r.Status)
			require.Contains(t, string(r.Failure), "did not answer in time")
			require.True(t, r.EffectPossible)
		})
	})

	t.Run("a local activity's definite word counts wherever it stands in the chain", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		declined := temporal.NewNonRetryableApplicationError("no such account", "NoAccount", nil)
		_, err := b.env(1).ExecuteLocalActivity(locally(func(context.Context) error { return fmt.Errorf("charge: %w", declined) }).Run)
		require.Error(t, err)
		records, err := b.store.(*memstore.Store).Admin().List(t.Context(), store.Query{Limit: 1})
		require.NoError(t, err)
		require.True(t, records[0].NonRetryable)
		require.False(t, records[0].EffectPossible)
	})

	t.Run("who is cancelled and has lost the record as well ends as cancelled", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		env := b.env(1)
		worker, stop := context.WithCancel(context.Background())
		env.SetWorkerOptions(workerOptions(b, worker))
		_, err := runIn(env, func(ctx context.Context) error {
			b.takeOver()
			stop()
			return ctx.Err()
		})
		require.ErrorContains(t, err, "canceled")
		require.Equal(t, map[string]int64{"failed": 1}, b.outcomes())
	})

	t.Run("a result that is not final is returned and the call can run again", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Takeover: store.Refuse, IsFinal: func(r any) bool { return r != "on hold" }}))
		answers := []string{"on hold", "paid"}
		runs := 0
		body := func(context.Context) (string, error) { runs++; return answers[min(runs, 2)-1], nil }
		for _, want := range []string{"on hold", "paid", "paid"} {
			v, err := b.run(1, body)
			require.NoError(t, err)
			var got string
			require.NoError(t, v.Get(&got))
			require.Equal(t, want, got)
		}
		require.Equal(t, 2, runs)
	})

	t.Run("a result over the limit is one clear failure and the body is not run again", func(t *testing.T) {
		t.Parallel()
		b, e := setup(t, withPolicy(activity.Policy{MaxResultBytes: 4})), &ends{}
		for range 2 {
			_, err := b.run(1, e.body)
			app := requireErrType(t, err, activity.ErrTypeResultTooLarge)
			require.True(t, app.NonRetryable())
			require.Contains(t, app.Message(), "over the limit of 4")
		}
		require.Equal(t, 1, e.runs)
		require.Equal(t, store.TombstoneResultTooLarge, b.record("1").Tombstone)
	})

	t.Run("a result that cannot be encoded fails the call and is not lost from sight", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(context.Context) (any, error) { return make(chan int), nil })
		require.ErrorContains(t, err, "unable to encode")
		require.Equal(t, store.StatusFailed, b.record("1").Status)
		require.True(t, b.record("1").EffectPossible)
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  func() (activity.Verification, error)
		result  string
		errType string
		runs    int
	}{
		{"done answers with its result", func() (activity.Verification, error) { return activity.Done("found"), nil }, "found", "", 1},
		{"not done runs the body", func() (activity.Verification, error) { return activity.NotDone(), nil }, "done", "", 2},
		{"cannot tell refuses", func() (activity.Verification, error) { return activity.CannotTell(), nil }, "", activity.ErrTypeOutcomeUnknown, 1},
		{"an error refuses", func() (activity.Verification, error) { return activity.NotDone(), errDeclined }, "", activity.ErrTypeOutcomeUnknown, 1},
		{"a panic refuses", func() (activity.Verification, error) { panic("boom") }, "", activity.ErrTypeOutcomeUnknown, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked []activity.VerifyRequest
			e := &ends{errs: []error{errDeclined}}
			b := setup(t, withPolicy(activity.Policy{Takeover: store.Verify,
				Verify: func(_ context.Context, r activity.VerifyRequest) (activity.Verification, error) {
					asked = append(asked, r)
					return c.answer()
				}}))
			_, err := b.run(1, e.body)
			require.ErrorContains(t, err, "card declined")
			first := b.record("1").CreatedAt

			v, err := b.run(1, e.body)
			require.Len(t, asked, 1)
			require.Equal(t, e.keys[0], asked[0].Key)
			require.True(t, first.Equal(asked[0].FirstSeen))
			require.Equal(t, c.runs, e.runs)
			if c.errType != "" {
				requireErrType(t, err, c.errType)
				require.True(t, b.record("1").Held)
				return
			}
			require.NoError(t, err)
			var got string
			require.NoError(t, v.Get(&got))
			require.Equal(t, c.result, got)
			require.Equal(t, store.StatusCompleted, b.record("1").Status)
		})
	}
}

func TestVerifierSpeaksOfAnEarlierExecution(t *testing.T) {
	t.Parallel()

	t.Run("after NotDone a body without effect leaves none possible, and a new provider key", func(t *testing.T) {
		t.Parallel()
		e := &ends{errs: []error{errDeclined, activity.NoEffect(errDeclined)}}
		b := setup(t, verifier(func() (activity.Verification, error) { return activity.NotDone(), nil }))
		for range 2 {
			_, err := b.run(1, e.body)
			require.ErrorContains(t, err, "card declined")
		}
		r := b.record("1")
		require.False(t, r.EffectPossible)
		require.Equal(t, 1, moved(r))
	})

	t.Run("one that does not answer in its time cannot tell", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := &ends{errs: []error{errDeclined}}
			b := setup(t, withPolicy(activity.Policy{Takeover: store.Verify, VerifyTimeout: 5 * time.Second,
				Verify: func(ctx context.Context, _ activity.VerifyRequest) (activity.Verification, error) {
					<-ctx.Done()
					return activity.CannotTell(), nil
				}}))
			_, err := b.run(1, e.body)
			require.ErrorContains(t, err, "card declined")
			begun := time.Now()
			_, err = b.run(1, e.body)
			app := requireErrType(t, err, activity.ErrTypeOutcomeUnknown)
			require.Contains(t, app.Message(), "deadline exceeded")
			require.Equal(t, 5*time.Second, time.Since(begun))
			require.True(t, b.record("1").Held)
		})
	})

	for name, late := range map[string]func() activity.Verification{
		"answers later": func() activity.Verification { return activity.Done("paid") },
		"panics later":  func() activity.Verification { panic("late") },
		"ends later":    func() activity.Verification { runtime.Goexit(); return activity.CannotTell() },
	} {
		t.Run("one that ignores its time and "+name+" cannot tell either", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &ends{errs: []error{errDeclined}}
				b := setup(t, withPolicy(activity.Policy{Takeover: store.Verify, VerifyTimeout: 5 * time.Second,
					Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
						time.Sleep(time.Minute) //nolint:forbidigo // fake clock
						return late(), nil
					}}))
				_, err := b.run(1, e.body)
				require.ErrorContains(t, err, "card declined")
				begun := time.Now()
				_, err = b.run(1, e.body)
				require.Contains(t, requireErrType(t, err, activity.ErrTypeOutcomeUnknown).Message(), "deadline exceeded")
				require.Equal(t, 5*time.Second, time.Since(begun))
				before := b.record("1")
				require.True(t, before.Held)
				time.Sleep(time.Minute) //nolint:forbidigo // fake clock
				require.Equal(t, before, b.record("1"))
				require.Equal(t, 1, e.runs)
			})
		})
	}

	t.Run("one that ignores a cancellation does not hold back the answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			e, leave := &ends{errs: []error{errDeclined}}, make(chan struct{})
			b := setup(t, verifier(func() (activity.Verification, error) {
				cancel()
				<-leave
				return activity.NotDone(), nil
			}))
			_, err := b.run(1, e.body)
			require.ErrorContains(t, err, "card declined")
			env := b.env(1)
			env.SetWorkerOptions(workerOptions(b, ctx))
			_, err = runIn(env, e.body)
			require.ErrorContains(t, err, "canceled")
			require.False(t, b.leaseLive("1"))
			close(leave)
			synctest.Wait()
			require.Equal(t, 1, e.runs)
		})
	})
}
