package child

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrEnded says that a server ended while it started: another process may have taken
// its port.
var ErrEnded = errors.New("the server ended while it started")

// attempts is how often Attempt tries: another process can take a port between its
// choice and its use.
const attempts = 3

// Attempt starts a server, again where it has ended at once. Its error is start's.
func Attempt(start func() error) (err error) {
	for range attempts {
		if err = start(); !errors.Is(err, ErrEnded) {
			return err
		}
	}
	return err
}

// Await asks again and again whether the program is ready, and returns when it is. One
// that has ended is ErrEnded; one that is not ready when ctx ends is killed. Both errors
// quote the end of its output.
func (p *Process) Await(ctx context.Context, every time.Duration, ready func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%w (%v); its last output:\n%s", ErrEnded, p.err, p.Output()) //nolint:errorlint // nil when it ended well
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("start the server: %w (%w); its last output:\n%s", context.Cause(ctx), err, p.Output())
		case <-tick.C:
		}
	}
}
