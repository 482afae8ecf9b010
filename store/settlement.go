package store

import (
	"fmt"
	"time"
)

// Outcome is how an execution ends.
type Outcome int

// The outcomes.
const (
	// Complete records a result, or a tombstone in its place.
	Complete Outcome = iota + 1
	// Fail records a failure.
	Fail
	// Release gives the lease up and leaves the record in progress, so that
	// the next execution can acquire it at once.
	Release
	// Hold keeps the record for an operator, the lease being over; see
	// Settlement.OwnLease. Where no effect is possible there is nothing to ask
	// an operator about, and it is answered with Stale.
	Hold
	// Pend hands the call over to somebody outside, for as long as Lease says.
	Pend
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Complete:
		return "complete"
	case Fail:
		return "fail"
	case Release:
		return "release"
	case Hold:
		return "hold"
	case Pend:
		return "pend"
	default:
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
}

// Settlement ends one execution. Complete, Release and Pend need a record in
// progress, Fail and Hold take one that failed as well. A late owner whose lease
// ran out may still settle while nobody else has acquired the record: how the call
// ended is worth knowing, and Complete then also ends a hold.
type Settlement struct {
	// Key and Token name the execution.
	Key   string
	Token Token
	// Outcome says how it ended.
	Outcome Outcome
	// Result is the encoded result under Complete. nil is a result without payload.
	Result []byte
	// ResultSize is the size in bytes of the result as it was encoded.
	ResultSize int64
	// Tombstone takes the result's place under Complete.
	Tombstone Tombstone
	// Failure is the encoded failure under Fail.
	Failure []byte
	// NonRetryable says under Fail that the failure is the author's definite word.
	NonRetryable bool
	// EffectPossible says under Fail and Release whether an effect may exist
	// that no result tells of. Complete clears it; Hold and Pend leave it. Where
	// it is false a held record is held no longer: its owner knows.
	EffectPossible bool
	// NewGeneration moves the provider key, under Fail and Release: nothing
	// happened at the provider, and it must not replay its refusal. It moves
	// only where the record still says that an effect is possible, as every
	// acquisition makes it say, so that a repetition does not move it again.
	NewGeneration bool
	// OwnLease says under Hold that the caller is the execution that Token
	// names, whose lease then ends. Everybody who has read the record knows the
	// token too: without OwnLease a live lease is [Stale], its owner is back.
	OwnLease bool
	// Lease is how long a pending record waits for its completion.
	Lease time.Duration
}

// Validate tells what is wrong with the settlement; its error wraps
// [ErrInvalidArgument] and names the field.
func (s Settlement) Validate() error {
	bad := func(what string) error {
		return fmt.Errorf("%w: key %q: %s under %v", ErrInvalidArgument, s.Key, what, s.Outcome)
	}
	switch {
	case s.Outcome < Complete || s.Outcome > Pend:
		return bad("unknown Outcome")
	case s.Token.IsZero():
		return bad("zero Token")
	case s.Outcome != Complete && (s.Result != nil || s.Tombstone != "" || s.ResultSize != 0):
		return bad("Result, ResultSize or Tombstone")
	case s.Outcome != Fail && (s.Failure != nil || s.NonRetryable):
		return bad("Failure or NonRetryable")
	case s.Tombstone != "" && s.Tombstone != ResultTooLarge && s.Tombstone != Purged:
		return bad("unknown Tombstone")
	case s.Tombstone != "" && s.Result != nil:
		return bad("both Result and Tombstone")
	case s.Outcome != Fail && s.Outcome != Release && (s.EffectPossible || s.NewGeneration):
		return bad("EffectPossible or NewGeneration")
	case s.NewGeneration && s.EffectPossible:
		return bad("NewGeneration although an effect is possible")
	case s.Outcome != Hold && s.OwnLease:
		return bad("OwnLease")
	case s.Outcome == Pend && s.Lease < time.Millisecond:
		return bad("Lease of less than 1ms")
	}
	return nil
}

// Settled answers one settlement.
type Settled int

// The answers to a settlement.
const (
	// Applied: the record stands as the settlement says.
	Applied Settled = iota + 1
	// Stale: the record has another owner, or this one has settled it with
	// another outcome before; nothing was changed.
	Stale
	// Missing: the record is gone; nothing was changed.
	Missing
)

// String returns the answer's name.
func (s Settled) String() string {
	switch s {
	case Applied:
		return "applied"
	case Stale:
		return "stale"
	case Missing:
		return "missing"
	default:
		return fmt.Sprintf("Settled(%d)", int(s))
	}
}
