package activity_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// neverRuns is a body that fails the test.
func neverRuns(t *testing.T) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		t.Error("the body ran")
		return "", errors.New("unexpected")
	}
}

func TestCompleteAsync(t *testing.T) {
	t.Parallel()

	t.Run("records the result, sends the same bytes, and a later attempt replays them", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		require.True(t, c.record("1").Pending)
		require.NoError(t, c.complete(h, "paid", nil))
		r := c.record("1")
		require.Equal(t, store.StatusCompleted, r.Status)
		require.False(t, r.Pending)
		told := c.temporal.completed(t, 0)
		sent, err := proto.Marshal(told.GetResult())
		require.NoError(t, err)
		require.Equal(t, r.Result, sent)
		require.Equal(t, []string{r.Namespace, r.WorkflowID, r.RunID, r.ActivityID},
			[]string{told.GetNamespace(), told.GetWorkflowId(), told.GetRunId(), told.GetActivityId()})
		v, err := c.run(1, neverRuns(t))
		require.NoError(t, err)
		var got string
		require.NoError(t, v.Get(&got))
		require.Equal(t, "paid", got)
	})

	t.Run("another scheduling waits for it: nobody would tell Temporal of that one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := setup(t).completer()
			h := c.hand()
			time.Sleep(time.Second) //nolint:forbidigo // fake clock: each call is a scheduling of its own
			second := make(chan error)
			var got string
			go func() {
				v, err := c.run(1, neverRuns(t))
				if err == nil {
					err = v.Get(&got)
				}
				second <- err
			}()
			synctest.Wait()
			require.NoError(t, c.complete(h, "paid", nil))
			require.NoError(t, <-second)
			require.Equal(t, "paid", got)
		})
	})

	t.Run("NoEffect does not undo an earlier owner's possible effect", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		_, err := c.run(1, func(context.Context) (string, error) { return "", errDeclined })
		require.ErrorContains(t, err, "card declined")
		require.NoError(t, c.complete(c.hand(), nil, activity.NoEffect(errDeclined)))
		r := c.record("1")
		require.Equal(t, store.StatusFailed, r.Status)
		require.True(t, r.EffectPossible)
		require.Zero(t, moved(r))
	})

	t.Run("a type that the retry policy does not retry is the author's definite word", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		text, err := c.hand().MarshalText()
		require.NoError(t, err)
		plain, err := base64.RawURLEncoding.DecodeString(string(text))
		require.NoError(t, err)
		plain = bytes.Replace(plain, []byte(`{`), []byte(`{"non_retryable_error_types":["Declined"],`), 1)
		var h activity.Handle
		require.NoError(t, h.UnmarshalText([]byte(base64.RawURLEncoding.EncodeToString(plain))))
		require.NoError(t, c.complete(h, nil, temporal.NewApplicationError("declined", "Declined")))
		r := c.record("1")
		require.Equal(t, store.StatusFailed, r.Status)
		require.True(t, r.NonRetryable)
		require.False(t, r.EffectPossible)
	})

	t.Run("a result without payload stays without payload", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		require.NoError(t, c.complete(c.hand(), nil, nil))
		require.Nil(t, c.record("1").Result)
		require.Nil(t, c.temporal.completed(t, 0).GetResult())
	})

	t.Run("again after a crash between record and Temporal, it sends what the first one recorded", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		c.temporal.fail = serviceerror.NewUnavailable("gone")
		require.ErrorContains(t, c.complete(h, "first", nil), "try again")
		c.temporal.fail = nil
		require.NoError(t, c.complete(h, "second", nil))
		var got string
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(c.temporal.completed(t, 0).GetResult(), &got))
		require.Equal(t, "first", got)
	})

	t.Run("it waits no longer for Temporal than it says, and nothing is lost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for name, end := range map[string]error{"a result": nil, "a failure": errors.New("declined"), "a cancellation": temporal.NewCanceledError()} {
				c := setup(t).completer()
				h := c.hand()
				c.temporal.hang.Store(true)
				begun := time.Now()
				require.ErrorContains(t, c.complete(h, "paid", end), "try again", name)
				require.Equal(t, 10*time.Second, time.Since(begun), name)
				c.temporal.hang.Store(false)
				require.NoError(t, c.complete(h, "paid", end), name)
				require.Len(t, c.temporal.told, 1, name)
			}
		})
	})

	t.Run("a second failure neither replaces the first nor moves the provider key", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		require.NoError(t, c.complete(h, nil, errors.New("provider timed out, maybe charged")))
		first := c.record("1")
		require.NoError(t, c.complete(h, nil, activity.NoEffect(temporal.NewNonRetryableApplicationError("declined", "Declined", nil))))
		require.Equal(t, first, c.record("1"))
		require.Contains(t, c.temporal.failed(t, 1).GetFailure().GetMessage(), "maybe charged")
	})

	t.Run("before the body has returned a result of its own, it counts", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		for _, body := range []func(context.Context) (string, error){
			func(ctx context.Context) (string, error) {
				require.NoError(t, c.complete(activity.PendingHandle(ctx), "from outside", nil))
				return "from the body", nil
			},
			neverRuns(t),
		} {
			v, err := c.run(1, body)
			require.NoError(t, err)
			var got string
			require.NoError(t, v.Get(&got))
			require.Equal(t, "from outside", got)
		}
	})

	t.Run("a lost answer of the store is asked for again", func(t *testing.T) {
		t.Parallel()
		f := &faulty{}
		c := setup(t, func(o *activity.Options) { f.Store, o.Store = o.Store, f }).completer()
		h := c.hand()
		f.loseAnswer.Store(1)
		require.NoError(t, c.complete(h, "paid", nil))
		require.Equal(t, store.StatusCompleted, c.record("1").Status)
	})

	t.Run("a store that is down tells Temporal nothing", func(t *testing.T) {
		t.Parallel()
		f := &faulty{}
		c := setup(t, func(o *activity.Options) { f.Store, o.Store = o.Store, f }).completer()
		h := c.hand()
		f.down.Store(true)
		c.options.SettleTimeout = 100 * time.Millisecond
		err := c.complete(h, "paid", nil)
		require.ErrorIs(t, err, errDown)
		require.ErrorContains(t, err, "Temporal was not told")
		require.Empty(t, c.temporal.told)
	})

	t.Run("an activity that Temporal does not wait for is named so, and the result is recorded", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		c.temporal.fail = serviceerror.NewNotFound("activity not found")
		require.ErrorIs(t, c.complete(h, "paid", nil), activity.ErrNotWaiting)
		require.Equal(t, store.StatusCompleted, c.record("1").Status)
	})

	t.Run("a result after a failure, and a failure after a result, are refused", func(t *testing.T) {
		t.Parallel()
		for _, first := range []error{nil, errors.New("declined")} {
			c := setup(t).completer()
			h := c.hand()
			require.NoError(t, c.complete(h, "paid", first))
			second := errors.New("declined")
			if first != nil {
				second = nil
			}
			before := c.record("1")
			require.ErrorIs(t, c.complete(h, "paid", second), activity.ErrStaleHandle)
			require.Equal(t, before, c.record("1"))
			require.Len(t, c.temporal.told, 1)
		}
	})

	t.Run("a handle whose call was taken over is refused, and writes and sends nothing", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		r := c.record("1")
		release := store.Settlement{Key: r.Key, Token: r.Token, Outcome: store.OutcomeRelease, EffectPossible: true}
		_, err := c.store.Settle(t.Context(), []store.Settlement{release})
		require.NoError(t, err)
		_, err = c.run(1, func(context.Context) (string, error) { return "the later one's", nil })
		require.NoError(t, err)
		before := c.record("1")
		require.ErrorIs(t, c.complete(h, "late", nil), activity.ErrStaleHandle)
		require.ErrorIs(t, c.complete(h, nil, errors.New("late")), activity.ErrStaleHandle)
		require.ErrorIs(t, c.complete(h, nil, temporal.NewCanceledError()), activity.ErrStaleHandle)
		require.Equal(t, before, c.record("1"))
		require.Empty(t, c.temporal.told)
	})

	t.Run("a handle whose call an operator has released is refused, and nobody is said to have it", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		admin := c.store.(*memstore.Store).Admin()
		found, err := admin.Find(t.Context(), []string{c.record("1").Key})
		require.NoError(t, err)
		_, err = admin.Resolve(t.Context(), store.Order{Actor: "ann", Reason: "no callback"}, []store.Change{{
			Key: found[0].Key, Seen: found[0].Seen(), Token: store.NewToken(), Verb: store.VerbRelease, Force: true, Keep: time.Hour,
		}})
		require.NoError(t, err)
		err = c.complete(h, "late", nil)
		require.ErrorIs(t, err, activity.ErrStaleHandle)
		require.ErrorContains(t, err, "belongs to another token now: another execution took it over, or an operator resolved it")
		require.Empty(t, c.temporal.told)
	})

	t.Run("another store than the workers' is told apart from a stale handle", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		h := c.hand()
		c.options.Store = setup(t).store
		err := c.complete(h, "paid", nil)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NotErrorIs(t, err, activity.ErrStaleHandle)
		require.Empty(t, c.temporal.told)
	})

	t.Run("a result over the limit is a failure, recorded as such", func(t *testing.T) {
		t.Parallel()
		c := setup(t, withPolicy(activity.Policy{MaxResultBytes: 100})).completer()
		h := c.hand()
		requireErrType(t, c.complete(h, strings.Repeat("x", 200), nil), activity.ErrTypeResultTooLarge)
		require.Equal(t, store.TombstoneResultTooLarge, c.record("1").Tombstone)
		require.True(t, c.temporal.failed(t, 0).GetFailure().GetApplicationFailureInfo().GetNonRetryable())
	})

	t.Run("a cancellation releases the call and is sent with its details", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		require.NoError(t, c.complete(c.hand(), nil, temporal.NewCanceledError("half done")))
		r := c.record("1")
		require.Equal(t, store.StatusInProgress, r.Status)
		require.False(t, r.Pending)
		require.True(t, r.EffectPossible)
		require.Contains(t, fmt.Sprint(c.temporal.told[0]), "details")
	})
}

func TestCompleteAsyncWithAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err          error
		nonRetryable bool
		effect       bool
		generation   int
	}{
		"any error leaves an effect possible":                      {errors.New("lost the connection"), false, true, 0},
		"a final error is the author's definite word":              {temporal.NewNonRetryableApplicationError("declined", "Declined", nil), true, false, 0},
		"an error without effect moves the provider key":           {activity.NoEffect(errors.New("never asked")), false, false, 1},
		"a wrapped one as well":                                    {fmt.Errorf("asking: %w", activity.NoEffect(errors.New("never asked"))), false, false, 1},
		"an error that Temporal would refuse is sent as its cause": {temporal.NewTimeoutError(1, nil), false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			completer := setup(t).completer()
			h := completer.hand()
			require.NoError(t, completer.complete(h, nil, c.err))
			r := completer.record("1")
			require.Equal(t, store.StatusFailed, r.Status)
			require.Equal(t, c.nonRetryable, r.NonRetryable)
			require.Equal(t, c.effect, r.EffectPossible)
			require.Equal(t, c.generation, moved(r))
			told := completer.temporal.failed(t, 0).GetFailure()
			sent, err := proto.Marshal(told)
			require.NoError(t, err)
			require.Equal(t, r.Failure, sent)
			require.NotNil(t, told.GetApplicationFailureInfo())
			require.NoError(t, completer.complete(h, nil, c.err), "again after a crash")
			require.Equal(t, c.generation, moved(completer.record("1")))
		})
	}
}

func TestCompleteAsyncBeforeTheHandOff(t *testing.T) {
	t.Parallel()

	t.Run("the body's attempt answers with the result, should the completer have crashed", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		c.temporal.fail = serviceerror.NewUnavailable("gone")
		var completed error
		v, err := c.run(1, func(ctx context.Context) (string, error) {
			completed = c.complete(activity.PendingHandle(ctx), "paid", nil)
			return "", sdkactivity.ErrResultPending
		})
		require.Error(t, completed)
		require.NoError(t, err)
		var got string
		require.NoError(t, v.Get(&got))
		require.Equal(t, "paid", got)
		require.False(t, c.record("1").Pending)
	})

	t.Run("and with the failure", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		_, err := c.handWhile(func(h activity.Handle) {
			require.NoError(t, c.complete(h, nil, temporal.NewNonRetryableApplicationError("declined", "Declined", nil)))
		})
		requireErrType(t, err, "Declined")
		require.Equal(t, store.StatusFailed, c.record("1").Status)
	})
}
