package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Admin is what operators do with the records, apart from [Store], which is what
// executions do. It never loads results or failures, and changes nothing without
// an [Order] that says who wants it and why; the change and its row in the audit
// trail are one transaction.
//
// An operator looks, thinks, and then acts, and meanwhile a worker may have gone
// on. So every change names what was seen ([Seen]): a record that is no longer
// like that is left alone, and the answer says so. What a change means for the
// calls to come is decided by [Decide] alone, from the record that it leaves.
type Admin interface {
	// List answers the records that the query selects, without their results.
	List(ctx context.Context, query Query) ([]Entry, error)

	// Find answers the records of these keys, in the order of the keys, without
	// those that do not exist.
	Find(ctx context.Context, keys []string) ([]Entry, error)

	// Resolve carries out changes, each by itself: see [Verb]. The answers tell
	// for each what came of it. A key stands at most once. It does not wait for
	// records that somebody has locked, but says so. After an error nothing is
	// known about any of the changes, and they can be made again as they are.
	Resolve(ctx context.Context, order Order, changes []Change) ([]Resolved, error)

	// Purge removes results, or whole records, of keys: Resolve for the verbs
	// [VerbPurge] and [VerbDelete] only, which are refused by Resolve.
	Purge(ctx context.Context, order Order, changes []Change) ([]Resolved, error)

	// Audit answers the latest changes of a key, or of all keys if it is empty,
	// newest first. It also answers for keys whose records are gone.
	Audit(ctx context.Context, key string, limit int) ([]Audit, error)

	// Stats counts the records; see [StatsOptions] for what it reads.
	Stats(ctx context.Context, options StatsOptions) (Stats, error)
}

// maxReason bounds Actor and Reason, which are read in lists.
const maxReason = 1000

// Order says on whose word a change is made. Both stand in the audit trail for
// good: no personal data beyond the name.
type Order struct {
	// Actor is who wants it, user@host for instance; 1 to 1,000 bytes.
	Actor string
	// Reason is why; 1 to 1,000 bytes that are not all space.
	Reason string
}

// Validate tells what is wrong with the order; its error wraps
// [ErrInvalidArgument] and names the field.
func (o Order) Validate() error {
	for _, f := range []struct{ name, value string }{{"Actor", o.Actor}, {"Reason", o.Reason}} {
		if strings.TrimSpace(f.value) == "" {
			return fmt.Errorf("%w: Order.%s is empty: the audit trail needs it", ErrInvalidArgument, f.name)
		}
		if len(f.value) > maxReason {
			return fmt.Errorf("%w: Order.%s of %d bytes, want at most %d", ErrInvalidArgument, f.name, len(f.value), maxReason)
		}
	}
	return nil
}

// Audit is one row of the audit trail.
type Audit struct {
	// ID orders the trail.
	ID int64
	// At is when the change was made, by the store's clock.
	At time.Time
	// Key is the record's.
	Key string
	// Verb is what was done, with its options: "release --fresh-key".
	Verb string
	// Actor and Reason are those of the order.
	Actor, Reason string
	// Before and After are the record as JSON, a member for each column, without
	// result and failure. After is nil where the record was deleted.
	Before, After []byte
}
