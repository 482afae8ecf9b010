package activity

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackgroundIsWaitedForWhileMoreBegins(t *testing.T) {
	t.Parallel()
	var b background
	var began, ended atomic.Int32
	var workers, drains sync.WaitGroup
	done := make(chan struct{})
	for range 8 {
		workers.Go(func() {
			for range 500 {
				one := make(chan struct{})
				began.Add(1)
				b.begin(func() {
					defer close(one)
					runtime.Gosched()
					ended.Add(1)
				})
				<-one
			}
		})
	}
	for range 4 {
		drains.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					before := began.Load() - 8 // which may not have begun yet
					if !b.wait(context.Background()) || ended.Load() < before {
						t.Errorf("it did not wait: %d of %d have ended", ended.Load(), before)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	close(done)
	drains.Wait()
	require.True(t, b.wait(context.Background()))
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.running)
}
