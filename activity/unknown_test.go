package activity_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// How executions end without a result, as steps of an interleaving. Each is one
// execution of call 1.
var endings = map[string]func(b *bundle, keys *[]activity.ProviderKey){
	"dies after the effect": func(b *bundle, keys *[]activity.ProviderKey) {
		// A dead process settles nothing and its lease runs out.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = b.run(1, func(ctx context.Context) error {
				*keys = append(*keys, activity.Key(ctx))
				runtime.Goexit()
				return nil
			})
		}()
		<-ended
	},
	"fails": func(b *bundle, keys *[]activity.ProviderKey) {
		_, err := b.run(1, body(keys, errDeclined))
		require.Error(b.t, err)
	},
	"panics": func(b *bundle, keys *[]activity.ProviderKey) {
		_, err := b.run(1, func(ctx context.Context) error {
			*keys = append(*keys, activity.Key(ctx))
			panic("boom")
		})
		require.Error(b.t, err)
	},
	"answers NoEffect": func(b *bundle, keys *[]activity.ProviderKey) {
		_, err := b.run(1, body(keys, activity.NoEffect(errDeclined)))
		require.Error(b.t, err)
	},
	"leaves before it starts": func(b *bundle, _ *[]activity.ProviderKey) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		env := b.env(1)
		env.SetWorkerOptions(workerOptions(b, cancelled))
		_, err := runIn(env, func(context.Context) error { panic("must not run") })
		require.ErrorContains(b.t, err, "canceled")
	},
}

func body(keys *[]activity.ProviderKey, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		*keys = append(*keys, activity.Key(ctx))
		return err
	}
}

func TestInterleavings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps []string
		// possible: the third execution must know that an effect may exist.
		possible bool
		// moved: the provider key is a new one.
		moved bool
	}{
		{[]string{"dies after the effect"}, true, false},
		{[]string{"fails"}, true, false},
		{[]string{"panics"}, true, false},
		{[]string{"answers NoEffect"}, false, true},
		{[]string{"leaves before it starts"}, false, false},
		{[]string{"dies after the effect", "leaves before it starts"}, true, false},
		{[]string{"dies after the effect", "answers NoEffect"}, true, false},
		{[]string{"fails", "leaves before it starts"}, true, false},
		{[]string{"fails", "answers NoEffect"}, true, false},
		{[]string{"fails", "answers NoEffect", "answers NoEffect"}, true, false},
		{[]string{"panics", "leaves before it starts", "answers NoEffect"}, true, false},
		{[]string{"answers NoEffect", "leaves before it starts"}, false, true},
		{[]string{"answers NoEffect", "fails"}, true, true},
		{[]string{"answers NoEffect", "fails", "answers NoEffect"}, true, true},
		{[]string{"leaves before it starts", "leaves before it starts"}, false, false},
		{[]string{"leaves before it starts", "answers NoEffect"}, false, true},
		{[]string{"leaves before it starts", "dies after the effect", "leaves before it starts"}, true, false},
	} {
		t.Run(fmt.Sprintf("an owner %q", c.steps), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var keys []activity.ProviderKey
			for _, step := range c.steps {
				endings[step](b, &keys)
			}
			require.Equal(t, c.possible, b.record("1").EffectPossible)

			var last []activity.ProviderKey
			_, err := b.run(1, body(&last, nil))
			require.NoError(t, err)
			first := activity.RecordProviderKey(b.record("1").Key, activity.FirstGeneration(b.record("1").Lineage))
			require.Equal(t, c.moved, last[0] != first, "whether the provider key moved")
			require.Equal(t, store.StatusCompleted, b.record("1").Status)
		})
	}
}

// Deployments, deadlines and provider timeouts leave outcomes that nobody knows.
func TestRefuseNeverRunsASecondBody(t *testing.T) {
	t.Parallel()
	errTimeout := errors.New("provider: timeout awaiting response headers")
	for name, interrupt := range map[string]func(ctx context.Context, stop func()) error{
		"deployments":       func(ctx context.Context, stop func()) error { stop(); <-ctx.Done(); return ctx.Err() },
		"deadlines":         func(context.Context, func()) error { return context.DeadlineExceeded },
		"provider timeouts": func(context.Context, func()) error { return errTimeout },
		"timeout errors":    func(context.Context, func()) error { return temporal.NewTimeoutError(0, errTimeout) },
	} {
		t.Run("after "+name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			refuse := setup(t, withPolicy(activity.Policy{Takeover: store.Refuse}))
			verify := setup(t, withPolicy(activity.Policy{Takeover: store.Verify,
				Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
					asked++
					return activity.Done("found"), nil
				}}))
			bodies := map[*bundle]int{}
			for n := 1; n <= 200; n++ {
				for _, b := range []*bundle{refuse, verify} {
					worker, stop := context.WithCancel(context.Background())
					env := b.env(n)
					env.SetWorkerOptions(workerOptions(b, worker))
					_, err := runIn(env, func(ctx context.Context) error { bodies[b]++; return interrupt(ctx, stop) })
					require.Error(t, err)
					stop()
				}
				second := func(context.Context) error { panic("a second body ran") }
				_, err := refuse.run(n, second)
				requireErrType(t, err, activity.ErrTypeOutcomeUnknown)
				require.True(t, refuse.record(fmt.Sprint(n)).Held)
				_, err = verify.run(n, second)
				require.NoError(t, err)
			}
			require.Equal(t, map[*bundle]int{refuse: 200, verify: 200}, bodies)
			require.Equal(t, 200, asked)
		})
	}
}

func TestGoexit(t *testing.T) {
	t.Parallel()
	t.Run("a verifier that ends its goroutine gives the lease up", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withPolicy(activity.Policy{Takeover: store.Verify,
			Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
				runtime.Goexit()
				return activity.CannotTell(), nil
			}}))
		_, err := b.run(1, body(new([]activity.ProviderKey), errDeclined))
		require.Error(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = b.run(1, body(new([]activity.ProviderKey), nil))
		}()
		<-ended
		r, err := b.store.Get(t.Context(), b.record("1").Key)
		require.NoError(t, err)
		require.False(t, r.LeaseLive())
		require.True(t, r.EffectPossible)
	})

	t.Run("a body that ends its goroutine leaves an effect possible and no live lease", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var keys []activity.ProviderKey
		endings["dies after the effect"](b, &keys)
		r, err := b.store.Get(t.Context(), b.record("1").Key)
		require.NoError(t, err)
		require.True(t, r.EffectPossible)
		require.False(t, r.LeaseLive())
		require.Less(t, r.LeaseLeft, time.Second)
	})
}
