package activity

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// background is work that goes on after its execution has answered. Other than a
// sync.WaitGroup, which panics then, it may be waited for while more of it begins:
// workers share an interceptor, and one stops while the others run.
type background struct {
	mu      sync.Mutex
	running map[chan struct{}]struct{} // each is closed when its work has ended
}

// begin does it in a goroutine.
func (b *background) begin(do func()) {
	ended := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == nil {
		b.running = map[chan struct{}]struct{}{}
	}
	b.running[ended] = struct{}{}
	go func() {
		defer b.end(ended) // also after runtime.Goexit
		shielded(do)
	}()
}

// shielded does what can call the user's code, such as a logger, in a goroutine of
// ours, where a panic would end the process. There is nobody left to tell of it.
func shielded(do func()) {
	defer func() { _ = recover() }()
	do()
}

func (b *background) end(ended chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, ended)
	close(ended)
}

// wait waits for what has begun by now, and not for what begins meanwhile: during
// an outage of the store other workers begin more without end. It tells whether it
// waited to the end.
func (b *background) wait(ctx context.Context) bool {
	b.mu.Lock()
	running := slices.Collect(maps.Keys(b.running))
	b.mu.Unlock()
	for _, ended := range running {
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
