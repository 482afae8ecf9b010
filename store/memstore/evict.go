package memstore

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Evict implements [store.Store].
func (s *Store) Evict(ctx context.Context, limit int) (int, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	n := 0
	for ; n < limit && s.doomed.due(now); n++ {
		s.dropFirst()
	}
	return n, nil
}

func (s *Store) dropFirst() {
	r := heap.Pop(&s.doomed).(*row) //nolint:errcheck // nothing else is in there
	delete(s.rows, r.record.Key)
}

// makeRoom drops as many removable rows as n new ones need, but none of those
// that the caller asks for and is about to be told of.
func (s *Store) makeRoom(n int, asked []store.Reservation, now time.Time) error {
	need := len(s.rows) + n - s.max
	if n == 0 || need <= 0 {
		return nil
	}
	var spared, dropped []*row
	wanted := make(map[string]bool, len(asked))
	for _, r := range asked {
		wanted[r.Key] = true
	}
	for len(dropped) < need && s.doomed.due(now) {
		r := heap.Pop(&s.doomed).(*row) //nolint:errcheck // nothing else is in there
		if wanted[r.record.Key] {
			spared = append(spared, r)
			continue
		}
		dropped = append(dropped, r)
	}
	if len(dropped) < need {
		spared, dropped = append(spared, dropped...), nil
	}
	for _, r := range spared {
		heap.Push(&s.doomed, r)
	}
	for _, r := range dropped {
		delete(s.rows, r.record.Key)
	}
	if dropped == nil {
		return fmt.Errorf("%w: %d records", store.ErrFull, len(s.rows))
	}
	return nil
}

// doomed is a heap of the rows that time alone makes removable, ordered by when
// it does. Rows that wait for somebody's word are not in it, so that they cost
// an eviction nothing.
type doomed []*row

// removable tells whether the row may go once its time has come.
func (r *row) removable() bool {
	c := r.record
	if c.Pending || c.Held {
		return false
	}
	return c.Policy == store.Reexecute || !c.EffectPossible
}

// removableFrom is when retention is over and no lease is live.
func (r *row) removableFrom() time.Time {
	if r.record.Status == store.StatusInProgress && !r.givenUp && r.leaseEnd.After(r.record.ExpiresAt) {
		return r.leaseEnd
	}
	return r.record.ExpiresAt
}

// due tells whether the first row may go.
func (d doomed) due(now time.Time) bool {
	return len(d) > 0 && !d[0].removableFrom().After(now)
}

// place puts a row where it belongs after it has changed.
func (d *doomed) place(r *row) {
	switch {
	case r.removable() && r.position < 0:
		heap.Push(d, r)
	case r.removable():
		heap.Fix(d, r.position)
	case r.position >= 0:
		heap.Remove(d, r.position)
	}
}

// Len implements [heap.Interface], as the following methods do.
func (d doomed) Len() int { return len(d) }

func (d doomed) Less(i, j int) bool { return d[i].removableFrom().Before(d[j].removableFrom()) }

func (d doomed) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].position, d[j].position = i, j
}

// Push implements [heap.Interface].
func (d *doomed) Push(x any) {
	r := x.(*row) //nolint:errcheck // nothing else is pushed
	r.position = len(*d)
	*d = append(*d, r)
}

// Pop implements [heap.Interface].
func (d *doomed) Pop() any {
	last := len(*d) - 1
	r := (*d)[last]
	(*d)[last], *d = nil, (*d)[:last]
	r.position = -1
	return r
}
