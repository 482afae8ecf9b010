package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Entry is a record as an operator sees it. Result and Failure are nil whatever
// the record holds.
type Entry struct {
	Record
	// HeldSince is when the record was held; zero if it is not.
	HeldSince time.Time
	// LeaseLength is how long the latest lease was given for.
	LeaseLength time.Duration
	// GivenUp: the lease did not run out, its owner or an operator ended it.
	GivenUp bool
	// HasResult: there are result bytes, ResultSize of them.
	HasResult bool
	// FailureSize is the size of the encoded failure in bytes; 0 without one.
	FailureSize int64
}

// Seen returns what a change of this record has to name.
func (e Entry) Seen() Seen {
	return Seen{
		Token: e.Token, Status: e.Status, Held: e.Held, Pending: e.Pending,
		EffectPossible: e.EffectPossible, Generation: e.Generation, Tombstone: e.Tombstone,
	}
}

// Seen is the state of a record on which an operator decided. Everything that
// matters to a decision changes with one of these; renewals change none, and a
// lease that is live again is looked at by itself.
type Seen struct {
	// Token is the record's, new with each acquisition and each operator's change.
	Token Token
	// Status, Held, Pending, EffectPossible, Generation and Tombstone are the
	// record's.
	Status         Status
	Held           bool
	Pending        bool
	EffectPossible bool
	Generation     int
	Tombstone      Tombstone
}

// Mark is the state in 12 hex digits, for people to copy from what they have
// looked at to what they do about it.
func (s Seen) Mark() string {
	text := fmt.Sprintf("%s %q %t %t %t %d %q", s.Token, s.Status, s.Held, s.Pending, s.EffectPossible, s.Generation, s.Tombstone)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
