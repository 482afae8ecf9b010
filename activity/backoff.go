package activity

import (
	"context"
	"math/rand/v2"
	"time"
)

// jitter spreads a delay by a quarter either way, so that those who wait for
// the same thing do not ask for it together.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// pause waits and tells whether it waited to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
