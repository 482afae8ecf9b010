// Package store is the contract between the activity side and whatever keeps
// the records: what a record holds, who may change it, and what is decided when
// a call meets one. It imports the standard library only and must not know
// Temporal, SQL or telemetry.
//
// A record's life: [Store.Reserve] inserts it in progress, with a lease and an
// owner token; the owner renews the lease and settles the record by that token;
// when the lease runs out first, [Store.Acquire] gives it a new owner by
// compare-and-set, and the old token changes nothing any more; when its
// retention is over, [Store.Evict] removes it.
//
// Stores only insert, read and compare-and-set. What an existing record means
// for a new call is decided in one place, [Decide]; [Claim] joins the two.
package store

import "context"

// Store keeps records. All methods may be called concurrently. A key stands at
// most once in the arguments of one call; a store answers a repeated key with
// an error that wraps [ErrInvalidArgument] and names it, and then changes
// nothing. Answers come in the order of the arguments.
//
// An error means that nothing is known about any of the arguments: they may or
// may not have been carried out. Every method can therefore be called again
// with the same arguments, and an owner token that already stands in the record
// tells that the first call was carried out. Only the store's clock decides
// whether a lease or a retention is over; durations are sent to it, never times.
//
// Package storetest holds this contract in code.
type Store interface {
	// Reserve inserts a record in progress for each key that is absent and
	// answers the record as it stands for each key that is not. It changes no
	// record that it finds and does not wait for a transaction that has locked
	// one. A key can be absent from both sides of a race with Evict; its Found
	// is then the zero value, and the caller reserves again.
	Reserve(ctx context.Context, reservations []Reservation) ([]Found, error)

	// Acquire gives records to new owners by compare-and-set: only where the
	// token and the status are still the ones seen, and only if no lease is
	// live, or the record is settled. A record that is held is acquired only
	// if the acquisition says so. The answer tells for each whether it was
	// acquired. After a miss the caller reserves again, and may find its own
	// token: an answer was lost, and the acquisition repeated.
	Acquire(ctx context.Context, acquisitions []Acquisition) ([]Acquired, error)

	// Renew extends leases by their tokens, also those that ran out while
	// nobody else acquired the record, but none that its owner has given up: a
	// renewal that comes after a release must not revive it. It does not wait for
	// records that somebody has locked, but says so.
	Renew(ctx context.Context, leases []Lease) ([]Renewal, error)

	// Settle ends executions by their tokens: see [Outcome]. A settlement whose
	// token is no longer the record's changes nothing and is answered with
	// [SettledStale]; one that was carried out before is answered with [SettledApplied] again.
	Settle(ctx context.Context, settlements []Settlement) ([]Settled, error)

	// Get reads one record, or answers an error that wraps [ErrNotFound].
	Get(ctx context.Context, key string) (Record, error)

	// Evict removes up to limit records whose retention is over, oldest first,
	// and answers how many it removed. It never removes a record with a live
	// lease, a pending or held one, or one that leaves an effect possible under
	// a takeover policy other than [Reexecute]. A store whose database removes
	// such records by itself may find nothing left to remove.
	Evict(ctx context.Context, limit int) (int, error)

	// Check tells whether the store can be used as it is configured: reachable,
	// writable, with the right schema. Its error says what to do.
	Check(ctx context.Context) error
}
