package activity_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestEveryPathOfEffectsHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := map[activity.ProviderKey]string{}
	var mu sync.Mutex
	note := func(ctx context.Context, path string) {
		mu.Lock()
		defer mu.Unlock()
		k := activity.Key(ctx)
		require.NotContains(t, keys, k, "%s and %s", path, keys[k])
		keys[k] = path
	}
	names := []string{"a", "b", "a/b", "a%2Fb", "a|b", "a:b", "a\\b", "a/", "/a", "%", "%25", "A", "á", "a\u0301", "\x00", "\xff", "\xfe", " a", "a ", "~a", "1", "a%", string(make([]byte, 600)), string(make([]byte, 601))}
	_, err := b.run(1, func(ctx context.Context) error {
		note(ctx, "root")
		var errs []error
		for _, n := range names {
			_, err := activity.Do(ctx, n, func(ctx context.Context) (string, error) {
				note(ctx, n)
				var errs []error
				for _, m := range names {
					got, err := activity.Do(ctx, m, func(ctx context.Context) (string, error) {
						note(ctx, fmt.Sprintf("%q > %q", n, m))
						return n + m, nil
					})
					if err == nil && got != n+m && m != "\xff" && m != "\xfe" && n != "\xff" && n != "\xfe" {
						errs = append(errs, fmt.Errorf("%q %q", got, n+m))
					}
					errs = append(errs, err)
				}
				return "", errors.Join(errs...)
			})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	require.NoError(t, err)
	require.Len(t, keys, 1+len(names)+len(names)*len(names))
}

// effectless is a store that takes no reservations of effects.
type effectless struct{ store.Store }

func (e effectless) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	if strings.HasPrefix(r[0].Key, "wd/") {
		return nil, errDown
	}
	return e.Store.Reserve(ctx, r)
}

func TestAnEffectNeverRunsUnprotected(t *testing.T) {
	t.Parallel()
	f := &effects{}
	b := setup(t, withStore(effectless{setup(t).store}), withPolicy(activity.Policy{
		OnStoreError: activity.RunUnprotected, WaitLimit: time.Millisecond,
	}))
	_, err := b.run(1, func(ctx context.Context) error { _, err := f.do(ctx, "charge"); return err })
	requireErrType(t, err, activity.ErrTypeStoreUnavailable)
	require.Zero(t, f.made)
	require.Equal(t, store.StatusInProgress, b.record("1").Status, "the store's trouble is no outcome")
	require.NoError(t, b.interceptor.Drain(t.Context()))
}

func TestAnEffectOfOtherArgumentsIsAConflictInOneSchedulingToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock stands still: both runs are attempts of one scheduling
		b := setup(t)
		var made []string
		attempt := func(amount string) error {
			_, err := b.run(1, func(ctx context.Context) error {
				_, err := activity.DoWith(ctx, "charge", activity.DoOptions{Fingerprint: amount}, func(context.Context) (int, error) {
					made = append(made, amount)
					return 1, nil
				})
				return errors.Join(err, errAfter)
			})
			return err
		}
		for _, amount := range []string{"10 EUR", "10 EUR"} {
			require.ErrorContains(t, attempt(amount), errAfter.Error())
		}
		first := b.record("1").Invocation
		requireErrType(t, attempt("99 EUR"), activity.ErrTypeConflict)
		require.Equal(t, first, b.record("1").Invocation)
		require.Equal(t, []string{"10 EUR"}, made)
	})
}

func TestParallelEffectsThatPanicLeaveNoLeaseBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		_, err := b.run(1, func(ctx context.Context) error {
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					defer func() { _ = recover() }()
					_, _ = activity.Do(ctx, fmt.Sprint("effect ", i), func(ctx context.Context) (int, error) {
						switch i % 4 {
						case 0:
							panic("x")
						case 1:
							runtime.Goexit()
						case 2:
							return 0, errDeclined
						}
						return activity.Do(ctx, "inner", func(context.Context) (int, error) { panic("inner") })
					})
				})
			}
			all.Wait()
			return errDeclined
		})
		require.Error(t, err)
		require.Zero(t, b.interceptor.KeptLeases())
	}
}

func TestAnEffectWhoseTypeHasChangedIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.run(1, func(ctx context.Context) error {
		_, err := activity.Do(ctx, "charge", func(context.Context) (string, error) { return "receipt", nil })
		return errors.Join(err, errDeclined)
	})
	require.Error(t, err)
	_, err = b.run(1, func(ctx context.Context) error {
		_, err := activity.Do(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
		return err
	})
	require.ErrorContains(t, err, "cannot be read as")
	_, err = b.run(1, func(ctx context.Context) error {
		_, err := activity.Do(ctx, "charge", func(context.Context) (*struct{ A string }, error) { return nil, nil })
		return err
	})
	require.ErrorContains(t, err, "cannot be read as")
}
