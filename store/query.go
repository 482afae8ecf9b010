package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxListed bounds Query.Limit.
const MaxListed = 10_000

// KeyRange is a part of the keys in their byte order.
type KeyRange struct {
	// From is the first key of the range.
	From string
	// Before is the first key after the range.
	Before string
}

// AllKeys is the range of every key. No key of [MaxKeyBytes] bytes comes after
// so many of Unicode's last character.
func AllKeys() KeyRange {
	return KeyRange{Before: strings.Repeat("\U0010FFFF", MaxKeyBytes/4+1)}
}

// KeysWithPrefix is the range of the keys that begin with a prefix. The empty prefix
// gives [AllKeys].
func KeysWithPrefix(prefix string) KeyRange {
	// The order of bytes is that of characters.
	for head := prefix; head != ""; {
		last, size := utf8.DecodeLastRuneInString(head)
		head = head[:len(head)-size]
		if last < utf8.MaxRune {
			next := last + 1
			if !utf8.ValidRune(next) { // no text has surrogates
				next = '\uE000'
			}
			return KeyRange{From: prefix, Before: head + string(next)}
		}
	}
	return KeyRange{From: prefix, Before: AllKeys().Before}
}

// Query selects records. Its fields narrow each other down; the zero value
// selects all.
//
// Ranges are answered from the index of keys, and Held from an index of its own
// that holds nothing else. Every other field is compared row by row, within the
// ranges or in the whole table: with neither Ranges nor Held a query that selects
// little reads much.
type Query struct {
	// Ranges are where to look. They may overlap: a record is answered once.
	// Defaults to [AllKeys].
	Ranges []KeyRange
	// Held selects the records that wait for an operator, the oldest first. All
	// others come in the order of their keys.
	Held bool
	// Status selects records of one status. Empty: any.
	Status Status
	// PastLease selects records in progress whose lease is over.
	PastLease bool
	// Pending selects records that somebody outside completes.
	Pending bool
	// EffectPossible selects records that nobody owns and of which nobody knows
	// whether they had their effect, held or not: a call that was never tried
	// again has been held by nobody.
	EffectPossible bool
	// Namespace, WorkflowID, RunID and ActivityType select by the latest
	// execution's. Empty: any.
	Namespace, WorkflowID, RunID, ActivityType string
	// After continues behind this key. Not with Held.
	After string
	// Limit is how many records to answer; 1 to [MaxListed].
	Limit int
}

// Validate tells what is wrong with the query; its error wraps
// [ErrInvalidArgument] and names the field.
func (q Query) Validate() error {
	switch {
	case q.Limit < 1 || q.Limit > MaxListed:
		return fmt.Errorf("%w: Query.Limit is %d, want 1 to %d", ErrInvalidArgument, q.Limit, MaxListed)
	case q.Status != "" && q.Status != StatusInProgress && q.Status != StatusCompleted && q.Status != StatusFailed:
		return fmt.Errorf("%w: Query.Status is %q", ErrInvalidArgument, q.Status)
	case q.Held && q.After != "":
		return fmt.Errorf("%w: Query.After with Held, whose order is not that of the keys", ErrInvalidArgument)
	}
	return nil
}
