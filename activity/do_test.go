package activity_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var errAfter = errors.New("failed after the effect")

// effects makes one effect in each attempt, and notes what it saw.
type effects struct {
	made  int
	keys  []activity.ProviderKey // of the effect, one for each time that it was made
	saw   []string               // what Do returned
	fails error                  // what fn returns
}

func (f *effects) do(ctx context.Context, name string) (string, error) {
	got, err := activity.Do(ctx, name, func(ctx context.Context) (string, error) {
		f.made++
		f.keys = append(f.keys, activity.Key(ctx))
		return fmt.Sprint("receipt ", f.made), f.fails
	})
	f.saw = append(f.saw, got)
	return got, err
}

// effect returns the record of an effect of the first call of "Charge".
func (b *bundle) effect(path string) store.Record {
	b.t.Helper()
	r, err := b.store.Get(context.Background(), "wd/default-test-namespace/"+workflowID+"/0/Charge/1/"+path)
	require.NoError(b.t, err)
	r.LeaseLeft = 0
	return r
}

func TestDo(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(b *bundle, body func(context.Context) error){
		"an error": func(b *bundle, body func(context.Context) error) {
			_, err := b.run(1, func(ctx context.Context) error { return errors.Join(body(ctx), errAfter) })
			require.ErrorContains(b.t, err, "failed after the effect")
		},
		"an error without effect": func(b *bundle, body func(context.Context) error) {
			_, err := b.run(1, func(ctx context.Context) error { return activity.NoEffect(errors.Join(body(ctx), errAfter)) })
			require.ErrorContains(b.t, err, "failed after the effect")
		},
		"a panic": func(b *bundle, body func(context.Context) error) {
			_, err := b.run(1, func(ctx context.Context) error { panic(fmt.Sprint("boom", body(ctx))) })
			require.ErrorContains(b.t, err, "boom")
		},
		"runtime.Goexit": func(b *bundle, body func(context.Context) error) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = b.run(1, func(ctx context.Context) error {
					if err := body(ctx); err != nil {
						return err
					}
					runtime.Goexit()
					return nil
				})
			}()
			<-ended
		},
		"cancellation": func(b *bundle, body func(context.Context) error) {
			ctx, cancel := context.WithCancel(context.Background())
			env := b.env(1)
			env.SetWorkerOptions(workerOptions(b, ctx))
			_, err := runIn(env, func(ctx context.Context) error {
				err := body(ctx)
				cancel()
				<-ctx.Done()
				return errors.Join(err, ctx.Err())
			})
			require.ErrorContains(b.t, err, "canceled")
		},
	} {
		t.Run("an effect is not repeated after "+name, func(t *testing.T) {
			t.Parallel()
			b, f := setup(t), &effects{}
			body := func(ctx context.Context) error { _, err := f.do(ctx, "charge"); return err }
			end(b, body)
			before := b.effect("charge")
			require.Equal(t, store.StatusCompleted, before.Status)
			_, err := b.run(1, body)
			require.NoError(t, err)
			require.Equal(t, []string{"receipt 1", "receipt 1"}, f.saw)
			require.Equal(t, 1, f.made)
			require.Equal(t, before, b.effect("charge"), "byte for byte, and nothing was written")
		})
	}

	t.Run("the record stands before the activity goes on", func(t *testing.T) {
		t.Parallel()
		b, f := setup(t), &effects{}
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := f.do(ctx, "charge")
			require.Equal(t, store.StatusCompleted, b.effect("charge").Status)
			require.Equal(t, store.StatusInProgress, b.record("1").Status)
			return err
		})
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"executed": 2}, b.outcomes())
	})

	t.Run("nested and parallel effects each have a record and a result of their own", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var made atomic.Int32
		body := func(ctx context.Context) (int, error) {
			var all sync.WaitGroup
			results := make([]string, 100)
			for i := range results {
				all.Go(func() {
					got, err := activity.Do(ctx, fmt.Sprint("outer", i), func(ctx context.Context) (string, error) {
						made.Add(1)
						inner, err := activity.Do(ctx, "inner", func(context.Context) (int, error) {
							made.Add(1)
							return i, nil
						})
						return fmt.Sprintf("outer %d of inner %d", i, inner), err
					})
					if err != nil {
						got = err.Error()
					}
					results[i] = got
				})
			}
			all.Wait()
			for i, got := range results {
				require.Equal(t, fmt.Sprintf("outer %d of inner %d", i, i), got)
			}
			return len(results), errAfter
		}
		for range 2 {
			_, err := b.run(1, body)
			require.ErrorContains(t, err, "failed after the effect")
		}
		require.EqualValues(t, 200, made.Load())
		require.NotEqual(t, b.effect("outer7").Result, b.effect("outer7%2Finner").Result)
	})

	t.Run("the same name twice in one execution is refused, wherever the first one stands", func(t *testing.T) {
		t.Parallel()
		b, f := setup(t), &effects{}
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := f.do(ctx, "charge")
			require.NoError(t, err)
			_, err = f.do(ctx, "charge")
			require.ErrorIs(t, err, activity.ErrDuplicateEffect)
			require.ErrorContains(t, err, `"charge"`)
			_, err = activity.Do(ctx, "outer", func(ctx context.Context) (string, error) {
				_, err := f.do(ctx, "charge")
				require.NoError(t, err, "another name: it stands under outer")
				return f.do(ctx, "charge")
			})
			require.ErrorIs(t, err, activity.ErrDuplicateEffect)
			_, err = f.do(ctx, "")
			require.ErrorContains(t, err, "no name")
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, f.made)
	})

	t.Run("the provider key is the effect's own, and stays over attempts", func(t *testing.T) {
		t.Parallel()
		b, f := setup(t), &effects{fails: errDeclined}
		var around []activity.ProviderKey
		for range 2 {
			_, err := b.run(1, func(ctx context.Context) error {
				around = append(around, activity.Key(ctx))
				_, err := f.do(ctx, "charge")
				return err
			})
			require.ErrorContains(t, err, errDeclined.Error())
		}
		require.Equal(t, 2, f.made)
		require.Equal(t, f.keys[0], f.keys[1])
		require.Equal(t, activity.RecordProviderKey(b.effect("charge").Key, activity.FirstGeneration(b.effect("charge").Lineage)), f.keys[0])
		require.Equal(t, around[0], around[1])
		require.NotEqual(t, around[0], f.keys[0])
	})

	t.Run("a result that is encoded as nothing, and one without payload, come back as such", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for range 2 {
			_, err := b.run(1, func(ctx context.Context) error {
				none, err := activity.Do(ctx, "none", func(context.Context) (any, error) { return nil, nil })
				require.NoError(t, err)
				require.Nil(t, none)
				empty, err := activity.Do(ctx, "empty", func(context.Context) ([]byte, error) { return []byte{}, nil })
				require.NoError(t, err)
				require.Empty(t, empty)
				pointer, err := activity.Do(ctx, "pointer", func(context.Context) (*int, error) { return nil, nil })
				require.NoError(t, err)
				require.Nil(t, pointer)
				return errAfter
			})
			require.ErrorContains(t, err, errAfter.Error())
		}
		require.Nil(t, b.effect("none").Result)
	})

	t.Run("a result that is too large, or cannot be read, is made once and refused each time", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{MaxResultBytes: 100}))
		made := 0
		for range 2 {
			_, err := b.run(1, func(ctx context.Context) error {
				_, err := activity.Do(ctx, "large", func(context.Context) (string, error) {
					made++
					return strings.Repeat("x", 200), nil
				})
				return fmt.Errorf("the author's words: %w", err)
			})
			app := requireErrType(t, err, activity.ErrTypeResultTooLarge)
			require.True(t, app.NonRetryable())
		}
		require.Equal(t, 1, made)
		_, err := b.run(2, func(ctx context.Context) error {
			_, err := activity.Do(ctx, "oneWay", func(context.Context) (oneWay, error) { return oneWay{}, nil })
			return err
		})
		requireErrType(t, err, activity.ErrTypeRecordCorrupt)
	})

	t.Run("without a record it is refused", func(t *testing.T) {
		t.Parallel()
		exempt := call(1)
		exempt.Exempt = true
		must := func(ctx context.Context) error {
			_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) { panic("must not run") })
			require.ErrorIs(t, err, activity.ErrNotDeduplicated)
			return nil
		}
		require.NoError(t, must(t.Context()))
		_, err := setup(t, withPolicy(activity.Policy{Off: true})).run(1, must)
		require.NoError(t, err)
		s := unreliable(t)
		s.down.Store(true)
		unprotected := setup(t, withStore(s), withPolicy(activity.Policy{OnStoreError: activity.RunUnprotected}))
		_, err = unprotected.run(1, must)
		require.NoError(t, err)
		s.down.Store(false)
		require.NoError(t, unprotected.interceptor.Drain(t.Context()))
		_, err = runIn(setup(t).envWith(&exempt), must)
		require.NoError(t, err)
	})

	t.Run("it cannot be completed from outside, and a handle taken in it is the activity's", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := activity.Do(ctx, "pending", func(ctx context.Context) (int, error) {
				require.Equal(t, activity.ShortKey(b.record("1").Key), activity.PendingHandle(ctx).String())
				return 0, sdkactivity.ErrResultPending
			})
			require.ErrorContains(t, err, "only an activity can be completed from outside")
			return err
		})
		require.Error(t, err)
		require.False(t, b.record("1").Pending)
		require.Equal(t, store.StatusFailed, b.effect("pending").Status)
	})

	t.Run("its spans and counts say that it is an effect, and which one on spans alone", func(t *testing.T) {
		t.Parallel()
		spans := tracetest.NewSpanRecorder()
		b := setup(t, func(o *activity.Options) {
			o.TracerProvider = trace.NewTracerProvider(trace.WithSpanProcessor(spans))
		})
		_, err := b.run(1, func(ctx context.Context) error { _, err := (&effects{}).do(ctx, "charge"); return err })
		require.NoError(t, err)
		var names []string
		for _, s := range spans.Ended() {
			attrs := attribute.NewSet(s.Attributes()...)
			source, _ := attrs.Value(telemetry.AttrSource)
			if source.AsString() == "effect" {
				key, _ := attrs.Value(telemetry.AttrKey)
				require.Equal(t, activity.ShortKey(b.effect("charge").Key), key.AsString())
				names = append(names, s.Name())
			}
		}
		require.Equal(t, []string{"dedupe.execution"}, names)
		require.Equal(t, map[string]int64{"executed": 2}, b.outcomes())
	})

	t.Run("an activity that has returned makes no effects", func(t *testing.T) {
		t.Parallel()
		b, f := setup(t), &effects{}
		var late context.Context
		_, err := b.run(1, func(ctx context.Context) error { late = context.WithoutCancel(ctx); return nil })
		require.NoError(t, err)
		_, err = f.do(late, "charge")
		require.ErrorContains(t, err, "the activity has returned")
		require.Zero(t, f.made)
	})
}

// oneWay is a type that can be encoded only.
type oneWay struct{}

func (oneWay) MarshalText() ([]byte, error)  { return []byte("there"), nil }
func (*oneWay) UnmarshalText(_ []byte) error { return errors.New("and not back") }

func TestDoErrors(t *testing.T) {
	t.Parallel()
	run := func(b *bundle, f *effects, wrap func(error) error) error {
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := f.do(ctx, "charge")
			if err != nil && wrap != nil {
				err = wrap(err)
			}
			return err
		})
		return err
	}

	for _, policy := range []store.TakeoverPolicy{store.Refuse, store.Verify} {
		t.Run("an effect that nobody knows of is refused and held under "+string(policy), func(t *testing.T) {
			t.Parallel()
			p := activity.Policy{Takeover: policy}
			if policy == store.Verify {
				p.Verify = func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
					return activity.NotDone(), nil
				}
			}
			b, f := setup(t, withPolicy(p)), &effects{fails: errDeclined}
			// The author's word about the activity lets it run again.
			require.ErrorContains(t, run(b, f, activity.NoEffect), errDeclined.Error())
			f.fails = nil
			err := run(b, f, func(err error) error { return fmt.Errorf("wrapped: %w", err) })
			app := requireErrType(t, err, activity.ErrTypeOutcomeUnknown)
			require.True(t, app.NonRetryable())
			require.Contains(t, app.Message(), b.effect("charge").Key)
			require.Equal(t, 1, f.made)
			require.True(t, b.effect("charge").Held)
			require.Nil(t, b.record("1").Failure, "it is no outcome of the activity's")
		})
	}

	t.Run("what can not have happened runs again under Refuse, with a new key", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Takeover: store.Refuse}))
		f := &effects{fails: fmt.Errorf("inside: %w", activity.NoEffect(errDeclined))}
		require.ErrorContains(t, run(b, f, activity.NoEffect), "inside")
		f.fails = nil
		require.NoError(t, run(b, f, nil))
		require.Equal(t, 2, f.made)
		require.NotEqual(t, f.keys[0], f.keys[1])
	})

	t.Run("NoEffect in an effect says nothing of the activity", func(t *testing.T) {
		t.Parallel()
		for _, fails := range []error{activity.NoEffect(errDeclined), fmt.Errorf("inside: %w", activity.NoEffect(errDeclined))} {
			b, f := setup(t), &effects{fails: fails}
			err := run(b, f, func(err error) error {
				require.ErrorIs(t, err, errDeclined)
				return err
			})
			require.ErrorContains(t, err, errDeclined.Error())
			require.True(t, b.record("1").EffectPossible)
			require.False(t, b.effect("charge").EffectPossible)
			require.Zero(t, moved(b.record("1")))
			require.Equal(t, 1, moved(b.effect("charge")))
		}
	})

	t.Run("the body sees the very error of its function", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		declined := temporal.NewNonRetryableApplicationError("declined", "Declined", nil, "code 51")
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) { return 0, declined })
			require.Same(t, declined, err)
			return err
		})
		require.True(t, requireErrType(t, err, "Declined").NonRetryable())
		require.True(t, b.effect("charge").NonRetryable)
		require.False(t, b.effect("charge").EffectPossible)
	})

	t.Run("a panic goes on, and the effect is recorded as failed with it", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.run(1, func(ctx context.Context) error {
			_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) { panic("boom") })
			return err
		})
		require.ErrorContains(t, err, "boom")
		for _, r := range []store.Record{b.effect("charge"), b.record("1")} {
			require.Equal(t, store.StatusFailed, r.Status)
			require.True(t, r.EffectPossible)
			require.Contains(t, string(r.Failure), "boom")
		}
	})

	t.Run("other arguments are a conflict, unless the effect says what counts", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		charge := func(amount string, o activity.DoOptions) (receipt string, err error) {
			_, err = b.run(1, func(ctx context.Context, amount string) error {
				receipt, err = activity.DoWith(ctx, "charge", o, func(context.Context) (string, error) { return "paid " + amount, nil })
				return activity.NoEffect(errors.Join(err, errAfter)) // so that other arguments may come in
			}, amount)
			return receipt, err
		}
		receipt, _ := charge("10 EUR", activity.DoOptions{})
		require.Equal(t, "paid 10 EUR", receipt)
		_, err := charge("99 EUR", activity.DoOptions{})
		require.Contains(t, requireErrType(t, err, activity.ErrTypeConflict).Message(), "DoOptions.Fingerprint")

		b = setup(t)
		account := activity.DoOptions{Fingerprint: map[string]any{"account": 7}}
		for _, amount := range []string{"10 EUR", "99 EUR"} {
			receipt, err = charge(amount, account)
			require.Equal(t, "paid 10 EUR", receipt)
			require.ErrorContains(t, err, errAfter.Error())
		}
		_, err = charge("10 EUR", activity.DoOptions{Fingerprint: map[string]any{"account": 8}})
		requireErrType(t, err, activity.ErrTypeConflict)
		_, err = charge("10 EUR", activity.DoOptions{Fingerprint: func() {}})
		requireErrType(t, err, activity.ErrTypeNoFingerprint)
	})
}
