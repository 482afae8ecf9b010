package memstore

import (
	"context"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var _ store.Maintained = (*Store)(nil)

// RecordPass implements [store.Maintained]. Nothing is kept: nobody can ask a
// store in memory when it was last maintained.
func (s *Store) RecordPass(ctx context.Context, _ store.Pass) error { return s.Check(ctx) }

// CountHeld implements [store.Maintained]. It looks at every record.
func (s *Store) CountHeld(ctx context.Context) (int64, error) {
	if _, err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	var held int64
	for _, r := range s.rows {
		if r.record.Held {
			held++
		}
	}
	return held, nil
}
