package store

import (
	"fmt"
	"time"
)

// Lease is the right of one execution to settle a record.
type Lease struct {
	// Key is the record's.
	Key string
	// Token names the execution.
	Token Token
	// Duration is how long the right lasts from each renewal on.
	Duration time.Duration
}

// Validate tells what is wrong with the lease; its error wraps
// [ErrInvalidArgument] and names the field. A Duration of zero would end the
// owner's right in silence.
func (l Lease) Validate() error {
	switch {
	case l.Token.IsZero():
		return fmt.Errorf("%w: key %q: zero Token", ErrInvalidArgument, l.Key)
	case l.Duration < time.Millisecond:
		return fmt.Errorf("%w: key %q: Duration %v, want at least 1ms", ErrInvalidArgument, l.Key, l.Duration)
	}
	return nil
}

// Renewal answers one lease.
type Renewal string

// The answers to a renewal.
const (
	// LeaseRenewed: the lease lasts its Duration from now.
	LeaseRenewed Renewal = "renewed"
	// LeaseLost: the record is gone, settled, or has another owner.
	LeaseLost Renewal = "lost"
	// LeaseLocked: somebody has locked the record; nothing is known. Renew again.
	LeaseLocked Renewal = "locked"
)
