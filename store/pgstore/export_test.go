package pgstore

import "time"

// SetNow gives the store another clock than this machine's.
func (s *Store) SetNow(now func() time.Time) { s.now = now }
