package memstore

import (
	"bytes"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// row is a record with the end of its lease, of which a reader only sees what
// is left.
type row struct {
	record   store.Record
	leaseEnd time.Time
	// givenUp: the owner has ended its lease by itself, and it is over also when the
	// clock was set back since.
	givenUp bool
	// leaseFor is how long the lease was given for, and heldSince when the record
	// was held: for operators.
	leaseFor  time.Duration
	heldSince time.Time
	// pendingFor is the lease that a pending record was given.
	pendingFor time.Duration
	// position in the heap of doomed rows; -1 outside of it.
	position int
}

// read copies the record, so that a caller's writes do not reach the row. Times
// leave without their monotonic reading, which no other store has.
func (r *row) read(now time.Time) store.Record {
	c := r.record
	c.LeaseLeft = r.leaseEnd.Sub(now)
	if r.givenUp {
		c.LeaseLeft = min(c.LeaseLeft, 0)
	}
	c.Result, c.Failure = bytes.Clone(c.Result), bytes.Clone(c.Failure)
	c.CreatedAt, c.UpdatedAt, c.ExpiresAt = wall(c.CreatedAt), wall(c.UpdatedAt), wall(c.ExpiresAt)
	return c
}

func wall(t time.Time) time.Time { return t.UTC().Round(0) }

func (r *row) leaseLive(now time.Time) bool {
	return r.record.Status == store.StatusInProgress && !r.givenUp && r.leaseEnd.After(now)
}

// own gives the row to the execution that the reservation names. What is
// older than one acquisition stays: the version, the count of acquisitions, the time
// of creation, and the generation, unless it was another lineage's and left no effect.
func (r *row) own(from store.Reservation, now time.Time) {
	generation := r.record.Generation
	if from.Generation != 0 && !r.record.EffectPossible && r.record.Lineage != from.Lineage {
		generation = from.Generation
	}
	r.record = store.Record{
		Key:            from.Key,
		Version:        r.record.Version,
		Status:         store.StatusInProgress,
		Hash:           from.Hashes[0],
		Token:          from.Token,
		Policy:         from.Policy,
		EffectPossible: true,
		Generation:     generation,
		Acquisitions:   r.record.Acquisitions + 1,
		CreatedAt:      r.record.CreatedAt,
		UpdatedAt:      now,
		ExpiresAt:      now.Add(from.Retention),
		Origin:         from.Origin,
	}
	r.leaseEnd, r.leaseFor, r.givenUp = now.Add(from.Lease), from.Lease, false
}
