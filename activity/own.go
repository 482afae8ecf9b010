package activity

import (
	"errors"

	"go.temporal.io/sdk/temporal"
)

// ownError is an error of ours that a body gets to see, from [Do] or a
// transaction. The body may wrap it as it likes: it is found again, and leaves as
// the application error that it holds.
type ownError struct{ app error }

func (o *ownError) Error() string { return o.app.Error() }
func (o *ownError) Unwrap() error { return o.app }

// own marks an application error of ours; all others stay as they are.
func own(err error) error {
	if _, ours := err.(*temporal.ApplicationError); !ours { //nolint:errorlint // as we made it
		return err
	}
	return &ownError{err}
}

// ownIn returns the application error of ours that stands in a chain, or nil.
func ownIn(err error) error {
	var o *ownError
	if !errors.As(err, &o) {
		return nil
	}
	return o.app
}

// lostLease is the error of a body whose record has another owner. It wraps
// ErrLeaseLost.
func lostLease(c call) error {
	return own(later(ErrTypeLeaseLost, 0, ErrLeaseLost, "call %q has another owner: what this execution does is not recorded any more", c.key))
}
