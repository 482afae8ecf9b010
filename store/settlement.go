package store

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is how an execution ends.
type Outcome string

// The outcomes.
const (
	// OutcomeComplete records a result, or a tombstone in its place.
	OutcomeComplete Outcome = "complete"
	// OutcomeFail records a failure.
	OutcomeFail Outcome = "fail"
	// OutcomeRelease gives the lease up and leaves the record in progress, so that
	// the next execution can acquire it at once.
	OutcomeRelease Outcome = "release"
	// OutcomeHold keeps the record for an operator, the lease being over; see
	// Settlement.OwnLease. Where no effect is possible there is nothing to ask
	// an operator about, and it is answered with SettledStale.
	OutcomeHold Outcome = "hold"
	// OutcomePend hands the call over to somebody outside, for as long as Lease says.
	OutcomePend Outcome = "pend"
)

var outcomes = []Outcome{OutcomeComplete, OutcomeFail, OutcomeRelease, OutcomeHold, OutcomePend}

// Settlement ends one execution. OutcomeComplete, OutcomeRelease and OutcomePend need a
// record in progress, OutcomeFail and OutcomeHold take one that failed as well. A late
// owner whose lease ran out may still settle while nobody else has acquired the record:
// how the call ended is worth knowing, and OutcomeComplete then also ends a hold.
type Settlement struct {
	// Key and Token name the execution.
	Key   string
	Token Token
	// Outcome says how it ended.
	Outcome Outcome
	// Result is the encoded result under OutcomeComplete. nil is a result without payload.
	Result []byte
	// ResultSize is the size in bytes of the result as it was encoded.
	ResultSize int64
	// Tombstone takes the result's place under OutcomeComplete.
	Tombstone Tombstone
	// Failure is the encoded failure under OutcomeFail.
	Failure []byte
	// NonRetryable says under OutcomeFail that the failure is the author's definite word.
	NonRetryable bool
	// EffectPossible says under OutcomeFail and OutcomeRelease whether an effect may
	// exist that no result tells of. OutcomeComplete clears it; OutcomeHold and
	// OutcomePend leave it. Where it is false a held record is held no longer: its
	// owner knows.
	EffectPossible bool
	// NewGeneration moves the provider key, under OutcomeFail and OutcomeRelease:
	// nothing happened at the provider, and it must not replay its refusal. It moves
	// only where the record still says that an effect is possible, as every
	// acquisition makes it say, so that a repetition does not move it again.
	NewGeneration bool
	// OwnLease says under OutcomeHold that the caller is the execution that Token
	// names, whose lease then ends. Everybody who has read the record knows the
	// token too: without OwnLease a live lease is [SettledStale], its owner is back.
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
	case !slices.Contains(outcomes, s.Outcome):
		return bad("unknown Outcome")
	case s.Token.IsZero():
		return bad("zero Token")
	case s.Outcome != OutcomeComplete && (s.Result != nil || s.Tombstone != "" || s.ResultSize != 0):
		return bad("Result, ResultSize or Tombstone")
	case s.Outcome != OutcomeFail && (s.Failure != nil || s.NonRetryable):
		return bad("Failure or NonRetryable")
	case s.Tombstone != "" && s.Tombstone != TombstoneResultTooLarge && s.Tombstone != TombstonePurged:
		return bad("unknown Tombstone")
	case s.Tombstone != "" && s.Result != nil:
		return bad("both Result and Tombstone")
	case s.Outcome != OutcomeFail && s.Outcome != OutcomeRelease && (s.EffectPossible || s.NewGeneration):
		return bad("EffectPossible or NewGeneration")
	case s.NewGeneration && s.EffectPossible:
		return bad("NewGeneration although an effect is possible")
	case s.Outcome != OutcomeHold && s.OwnLease:
		return bad("OwnLease")
	case s.Outcome == OutcomePend && s.Lease < time.Millisecond:
		return bad("Lease of less than 1ms")
	}
	return nil
}

// Settled answers one settlement.
type Settled string

// The answers to a settlement.
const (
	// SettledApplied: the record stands as the settlement says.
	SettledApplied Settled = "applied"
	// SettledStale: the record has another owner, or this one has settled it with
	// another outcome before; nothing was changed.
	SettledStale Settled = "stale"
	// SettledMissing: the record is gone; nothing was changed.
	SettledMissing Settled = "missing"
)
