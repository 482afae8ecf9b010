package redisstore_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// hook is a hook of a client around each command, or before it in a pipeline.
type hook func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := h(ctx, cmd, func(context.Context, redis.Cmder) error { return nil }); err != nil {
				return err
			}
		}
		return next(ctx, cmds)
	}
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}

// errHook is what hooks panic with.
var errHook = errors.New("the hook is broken")

// ended tells how a call ended that did not return.
func ended(call func()) (panicked any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		call()
		returned = true
	}()
	<-done
	return panicked, returned
}

func requireHookPanics(t *testing.T, call func()) {
	t.Helper()
	panicked, returned := ended(call)
	require.False(t, returned)
	err, _ := panicked.(error)
	require.ErrorIs(t, err, errHook)
	require.ErrorContains(t, err, "hook_test.go", "it says where")
}

func TestHooks(t *testing.T) {
	t.Parallel()
	server := localredistest.RequireServer(t, localredis.Options{})
	// hooked makes a store whose client calls broken when it is armed.
	hooked := func(t *testing.T, o redisstore.Options, broken func()) (s *redisstore.Store, armed *atomic.Bool) {
		t.Helper()
		armed = new(atomic.Bool)
		client := localredistest.RequireClient(t, server)
		client.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			if armed.Load() {
				broken()
			}
			return next(ctx, cmd)
		}))
		return requireStore(t, client, o), armed
	}

	t.Run("that panic do so in the caller's goroutine", func(t *testing.T) {
		t.Parallel()
		s, armed := hooked(t, patient, func() { panic(errHook) })
		armed.Store(true)
		requireHookPanics(t, func() { _, _ = s.Get(t.Context(), "k") })
		requireHookPanics(t, func() { _ = s.Check(t.Context()) })
		armed.Store(false)
		require.NoError(t, walk(t.Context(), s, "walked", nil))
	})
	t.Run("that end their goroutine end the caller's", func(t *testing.T) {
		t.Parallel()
		s, armed := hooked(t, patient, runtime.Goexit)
		armed.Store(true)
		panicked, returned := ended(func() { _, _ = s.Get(t.Context(), "k") })
		require.False(t, returned)
		require.Nil(t, panicked)
	})
	t.Run("that panic when the caller has gone disturb nobody", func(t *testing.T) {
		t.Parallel()
		gone, panics := make(chan struct{}), make(chan struct{})
		s, armed := hooked(t, redisstore.Options{CallTimeout: 5 * time.Second}, func() {
			<-gone
			defer close(panics)
			panic(errHook)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		armed.Store(true)
		_, err := s.Reserve(ctx, []store.Reservation{reservation("given up")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		armed.Store(false)
		close(gone)
		<-panics
		require.NoError(t, s.Check(t.Context()), "the process lives on")
	})
	t.Run("of a cluster's nodes panic in the goroutine that checks them", func(t *testing.T) {
		t.Parallel()
		client := redis.NewClusterClient(localredistest.RequireCluster(t, localredis.Options{}).ClientOptions())
		t.Cleanup(func() { _ = client.Close() })
		var armed atomic.Bool
		client.OnNewNode(func(node *redis.Client) {
			node.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				if armed.Load() && cmd.Name() == "info" {
					panic(errHook)
				}
				return next(ctx, cmd)
			}))
		})
		s := requireStore(t, client, patient)
		armed.Store(true)
		requireHookPanics(t, func() { _ = s.Check(t.Context()) })
	})
}
