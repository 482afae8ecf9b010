package pgstore

import (
	"context"
	"sync"
	"time"
)

// limited is a caller's context that ends at a certain time. It does what one of
// context.WithDeadline does, but has a timer only once somebody asks for Done: nearly
// every call is answered by a flight, and waits for it with a timer that was used before.
type limited struct {
	context.Context //nolint:containedctx // the caller's

	end time.Time

	mu      sync.Mutex
	timed   context.Context //nolint:containedctx // stands for this one once there is one
	cancel  context.CancelFunc
	stopped bool
}

func limit(ctx context.Context, d time.Duration) *limited {
	if ctx == nil {
		panic("dedupe: pgstore: the context is nil") // here, where nobody's lock is held
	}
	return &limited{Context: ctx, end: time.Now().Add(d)}
}

// stop ends the context, and frees what it has used.
func (l *limited) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.cancel != nil {
		l.cancel()
	}
}

// start returns the context that stands for this one from now on. The caller holds the
// lock.
func (l *limited) start() context.Context {
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.end)
		if l.stopped {
			l.cancel()
		}
	}
	return l.timed
}

// Done implements [context.Context].
func (l *limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start().Done()
}

// Err implements [context.Context].
func (l *limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil && !l.stopped && time.Now().Before(l.end) && l.Context.Err() == nil {
		return nil
	}
	return l.start().Err() // which stays
}

// Deadline implements [context.Context].
func (l *limited) Deadline() (time.Time, bool) {
	if end, ok := l.Context.Deadline(); ok && end.Before(l.end) {
		return end, true
	}
	return l.end, true
}

// Value implements [context.Context]. Contexts that are made from this one find the one
// with the timer there, and need no goroutine to watch it.
func (l *limited) Value(key any) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed != nil {
		return l.timed.Value(key)
	}
	return l.Context.Value(key)
}

// timers are those of calls that wait, to be used again.
type timers struct{ sync.Pool }

// wait returns nil when done is closed, or why the context is done before.
func (t *timers) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	l, ok := ctx.(*limited)
	if !ok {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return reason(ctx)
		}
	}
	timer, ok := t.Get().(*time.Timer)
	if !ok {
		timer = time.NewTimer(time.Hour)
	}
	timer.Reset(time.Until(l.end))
	defer t.putBack(timer)
	select {
	case <-done:
		return nil
	case <-l.Context.Done():
		return reason(l.Context)
	case <-timer.C:
		return context.DeadlineExceeded
	}
}

// putBack leaves a timer as a new one, also where GODEBUG has asynctimerchan=1.
func (t *timers) putBack(timer *time.Timer) {
	timer.Stop()
	select {
	case <-timer.C:
	default:
	}
	t.Put(timer)
}

// reason returns why a context is done, and never nil: a caller's may be of any kind.
func reason(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}
