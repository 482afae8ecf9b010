package redisstore

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// answer is how a function ended. One that neither returned nor panicked has ended
// its goroutine.
type answer[R any] struct {
	value    R
	err      error
	returned bool
	panicked *panicError
}

// panicError is what somebody panicked with in another goroutine, and where.
type panicError struct {
	value any
	stack []byte
}

// Error returns the text of both.
func (p *panicError) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// Unwrap returns what it panicked with, if that was an error.
func (p *panicError) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// within returns when do does, or when the context ends: unless the client was
// told otherwise (ContextTimeoutEnabled), it waits for an answer for as long as
// its own timeouts and retries say, whatever the context. do then ends later.
//
// A hook of the client can panic, which would end the process in a goroutine of
// ours: the caller panics instead, or ends its goroutine as do has ended its own.
// Once the context has ended nobody hears of either.
func within[R any](ctx context.Context, do func() (R, error)) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	answered := make(chan answer[R], 1)
	go func() {
		var a answer[R]
		defer func() {
			if value := recover(); value != nil {
				a.panicked = &panicError{value, debug.Stack()}
			}
			answered <- a
		}()
		a.value, a.err = do()
		a.returned = true
	}()
	select {
	case a := <-answered:
		switch {
		case a.panicked != nil:
			panic(a.panicked)
		case !a.returned:
			runtime.Goexit()
		}
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
