package store

import (
	"fmt"
	"time"
)

// OtherExecution says what a call does when its key's record belongs to another
// lineage: another execution of the same workflow ID.
type OtherExecution string

// The answers to a record of another lineage.
const (
	// RefuseOther refuses the call. So does the zero value.
	RefuseOther OtherExecution = "refuse"
	// ReplayOther meets the record as if it were the call's own, flagged.
	ReplayOther OtherExecution = "replay"
	// AnyOther does not compare lineages: the key alone is the operation.
	AnyOther OtherExecution = "any"
)

// MaxGeneration is the greatest generation that a record begins with: each release may
// add one.
const MaxGeneration = 1 << 30

// Reservation asks for a call to be owned by a new execution.
type Reservation struct {
	// Key is the call's identity; 1 to [MaxKeyBytes] bytes.
	Key string
	// Hashes are the acceptable fingerprints, at least one. The first is
	// stored; the others were signed with secrets that are being retired.
	Hashes []string
	// Token names this execution.
	Token Token
	// Lease is how long the execution may own the record without renewing;
	// at least a millisecond.
	Lease time.Duration
	// Retention is how long the record is kept, from now; longer than Lease.
	Retention time.Duration
	// Policy is recorded with the acquisition.
	Policy TakeoverPolicy
	// OnOther is the answer to a record of another lineage.
	OnOther OtherExecution
	// Generation is the provider-key generation that a new record begins with, and
	// that one of another lineage gets which leaves no effect: what the provider has
	// seen from that lineage is another request. 0 leaves that one's as it is: the
	// key is the operation, whoever asks.
	Generation int

	Origin
}

// lease returns the lease that the reservation asks for.
func (r Reservation) lease() Lease {
	return Lease{Key: r.Key, Token: r.Token, Duration: r.Lease}
}

// Validate tells what is wrong with the reservation; its error wraps
// [ErrInvalidArgument] and names the field.
func (r Reservation) Validate() error {
	switch {
	case r.Key == "" || len(r.Key) > MaxKeyBytes:
		return fmt.Errorf("%w: Key of %d bytes, want 1 to %d", ErrInvalidArgument, len(r.Key), MaxKeyBytes)
	case len(r.Hashes) == 0:
		return fmt.Errorf("%w: key %q: no Hashes", ErrInvalidArgument, r.Key)
	case r.Token.IsZero():
		return fmt.Errorf("%w: key %q: zero Token", ErrInvalidArgument, r.Key)
	case r.Lease < time.Millisecond:
		return fmt.Errorf("%w: key %q: Lease %v, want at least 1ms", ErrInvalidArgument, r.Key, r.Lease)
	case r.Retention <= r.Lease:
		return fmt.Errorf("%w: key %q: Retention %v is not longer than Lease %v", ErrInvalidArgument, r.Key, r.Retention, r.Lease)
	case r.Generation < 0 || r.Generation > MaxGeneration:
		return fmt.Errorf("%w: key %q: Generation %d, want 0 to %d", ErrInvalidArgument, r.Key, r.Generation, MaxGeneration)
	case r.Policy != Reexecute && r.Policy != Refuse && r.Policy != Verify:
		return fmt.Errorf("%w: key %q: Policy %q", ErrInvalidArgument, r.Key, r.Policy)
	}
	for _, h := range r.Hashes {
		if h == "" {
			return fmt.Errorf("%w: key %q: empty fingerprint in Hashes", ErrInvalidArgument, r.Key)
		}
	}
	return nil
}

// Found answers one reservation. The zero value means that the key was neither
// inserted nor seen.
type Found struct {
	// Inserted: the record is new and belongs to the reservation's token.
	Inserted bool
	// Exists: Record is the one that stands.
	Exists bool
	// Record is set where Exists.
	Record Record
}

// Acquisition asks for a record that was seen without a live lease, or settled.
type Acquisition struct {
	// Reservation is what the new owner asks for. Its first hash is stored.
	Reservation
	// SeenToken and SeenStatus are those of the record that was decided upon.
	SeenToken  Token
	SeenStatus Status
	// SeenHeld allows a held record to be acquired.
	SeenHeld bool
}

// Acquired answers one acquisition.
type Acquired struct {
	// OK: the record belongs to the acquisition's token.
	OK bool
	// Generation is the record's provider-key generation.
	Generation int
}
