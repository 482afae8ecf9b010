package store

import (
	"fmt"
	"strings"
	"time"
)

// Verb is what an operator does with a record.
type Verb string

// The verbs. Each gives the record a new token, so that whoever owned it before
// can change nothing any more: a body that still runs is cancelled when its lease
// is not renewed, and its result is not recorded.
const (
	// VerbRelease: no effect was made. The record is held no longer, an effect is
	// not possible any more, and the next attempt runs the body, under every
	// takeover policy.
	VerbRelease Verb = "release"
	// VerbComplete: the effect was made. The record gets the result that the
	// operator gives, and every attempt to come replays it.
	VerbComplete Verb = "complete"
	// VerbFail: the call has failed for good, without an effect. An attempt of
	// the same scheduling gets the failure that the operator gives; another
	// scheduling runs the body, as after every failure.
	VerbFail Verb = "fail"
	// VerbPurge: the result of a completed record is removed and a [Tombstone]
	// stands in its place. The call is refused, and not run again.
	VerbPurge Verb = "purge"
	// VerbDelete: the record is removed. The call is new, whatever it did.
	VerbDelete Verb = "delete"
)

// Fits tells why a verb cannot be applied to a record in this state; empty if it
// can.
func (v Verb) Fits(s Seen) string {
	done := s.Status == StatusCompleted
	switch {
	case v == VerbDelete:
		return ""
	case v == VerbPurge && !done:
		return "it has no result to purge"
	case v == VerbPurge && s.Tombstone != "":
		return "its result is gone already"
	case v == VerbComplete && done && s.Tombstone == "":
		return "it is completed already, and its result may have been used"
	case v != VerbPurge && v != VerbComplete && done:
		return "it is completed"
	}
	return ""
}

// Change is one change of one record.
type Change struct {
	// Key is the record's.
	Key string
	// Seen is the record's state on which the operator decided.
	Seen Seen
	// Token is the one that the record gets: [NewToken], a new one for each
	// change. A change that is carried out again, because the answer to it was
	// lost, is recognised by it, and by Seen where it deletes.
	Token Token
	// Verb is what to do.
	Verb Verb
	// Force does it although an execution owns the record, which then loses it.
	// Not under VerbPurge, whose records nobody owns, and not under VerbDelete:
	// with the record its successor's protection would be gone.
	Force bool
	// FreshKey moves the generation under VerbRelease, so that the provider sees
	// a new idempotency key: for a deliberate second try, after a refusal that it
	// would otherwise replay.
	FreshKey bool
	// Result is the encoded result under VerbComplete. nil is a result without
	// payload.
	Result []byte
	// Failure is the encoded failure under VerbFail; required there.
	Failure []byte
	// Keep is how long the record is kept from now at least, under VerbRelease,
	// VerbComplete and VerbFail. A record that was held for longer than its
	// retention would otherwise be evicted with the operator's word in it. At
	// least a millisecond.
	Keep time.Duration
}

// Validate tells what is wrong with the change; its error wraps
// [ErrInvalidArgument] and names the field.
func (c Change) Validate() error {
	bad := func(what string) error {
		return fmt.Errorf("%w: key %q: %s under %s", ErrInvalidArgument, c.Key, what, c.Verb)
	}
	resolves := c.Verb == VerbRelease || c.Verb == VerbComplete || c.Verb == VerbFail
	switch {
	case !resolves && c.Verb != VerbPurge && c.Verb != VerbDelete:
		return fmt.Errorf("%w: key %q: unknown Verb %q", ErrInvalidArgument, c.Key, c.Verb)
	case c.Seen.Token.IsZero():
		return bad("zero Seen.Token")
	case c.Token.IsZero():
		return bad("zero Token")
	case c.Verb.Fits(c.Seen) != "":
		return bad("Seen does not fit: " + c.Verb.Fits(c.Seen))
	case c.Force && !resolves:
		return bad("Force")
	case c.FreshKey && c.Verb != VerbRelease:
		return bad("FreshKey")
	case c.Result != nil && c.Verb != VerbComplete:
		return bad("Result")
	case (c.Failure != nil) != (c.Verb == VerbFail):
		return bad("Failure missing, or given,")
	case resolves && c.Keep < time.Millisecond:
		return bad("Keep of less than 1ms")
	}
	return nil
}

// Named is the verb with its options, as it stands in the audit trail.
func (c Change) Named() string {
	words := []string{string(c.Verb)}
	if c.FreshKey {
		words = append(words, "--fresh-key")
	}
	if c.Force {
		words = append(words, "--force")
	}
	return strings.Join(words, " ")
}

// Resolved answers one change.
type Resolved string

// The answers to a change. All but the first mean that nothing was changed.
const (
	// ResolvedDone: the record stands as the change says, and the trail has it.
	ResolvedDone Resolved = "done"
	// ResolvedChanged: the record is no longer as it was seen. Look again.
	ResolvedChanged Resolved = "changed"
	// ResolvedLive: an execution owns the record, or somebody outside completes
	// it, and the change was not forced.
	ResolvedLive Resolved = "lease_live"
	// ResolvedMissing: the record is gone.
	ResolvedMissing Resolved = "missing"
	// ResolvedLocked: a transaction has locked the record. Try again.
	ResolvedLocked Resolved = "locked"
	// ResolvedNewer: the record has a version that this release does not know.
	ResolvedNewer Resolved = "newer_version"
)
