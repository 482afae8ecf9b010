// Package memstore keeps records in the memory of one process: for tests, for
// trying things out, and as the shortest description of what every store does.
// It must know nothing but package store, and it starts no goroutines, so that
// it works inside a testing/synctest bubble.
//
// Its records end with the process. It protects against retries within one
// worker process, not against a restart and not between two workers.
package memstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// defaultMaxRecords keeps a forgotten store at about 100 MB with results of a
// few hundred bytes.
const defaultMaxRecords = 100_000

// Options configures a Store. The zero value is useful.
type Options struct {
	// MaxRecords bounds how many records are kept. When they are reached,
	// records whose retention is over make room, as if evicted; if there are
	// none, Reserve answers [store.ErrFull]. Defaults to 100,000.
	MaxRecords int
	// Now is the store's clock. Defaults to time.Now.
	Now func() time.Time
}

func (o Options) validate() error {
	if o.MaxRecords < 0 {
		return fmt.Errorf("dedupe: memstore: Options.MaxRecords is negative: %d", o.MaxRecords)
	}
	return nil
}

// Store is a [store.Store] in memory.
type Store struct {
	max int
	now func() time.Time

	mu     sync.Mutex
	closed bool
	rows   map[string]*row
	// doomed orders the rows that time alone makes removable.
	doomed doomed
	// trail is what operators changed, in order.
	trail []store.Audit
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.MaxRecords = cmp.Or(o.MaxRecords, defaultMaxRecords)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{max: o.MaxRecords, now: o.Now, rows: map[string]*row{}}, nil
}

// Close drops all records. Every later call answers [store.ErrClosed].
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.rows, s.doomed, s.trail = true, nil, nil, nil
}

// Check implements [store.Store].
func (s *Store) Check(ctx context.Context) error {
	_, err := s.lock(ctx)
	if err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return store.Record{}, err
	}
	defer s.mu.Unlock()
	r, ok := s.rows[key]
	if !ok {
		return store.Record{}, fmt.Errorf("%w: key %q", store.ErrNotFound, key)
	}
	return r.read(now), nil
}

// lock begins a call: it takes the lock, which the caller gives back unless there
// is an error, and the time. One time per call, taken
// under the lock, makes all answers of a call agree with each other.
func (s *Store) lock(ctx context.Context) (now time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return time.Time{}, store.ErrClosed
	}
	return s.now(), nil
}

// check validates the arguments of a call before anything is changed.
func check[T any](arguments []T, key func(T) string, validate func(T) error) error {
	seen := make(map[string]struct{}, len(arguments))
	for _, a := range arguments {
		if err := validate(a); err != nil {
			return err
		}
		if _, twice := seen[key(a)]; twice {
			return fmt.Errorf("%w: key %q stands twice in one call", store.ErrInvalidArgument, key(a))
		}
		seen[key(a)] = struct{}{}
	}
	return nil
}
