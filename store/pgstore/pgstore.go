// Package pgstore keeps the records in Postgres, beside the business data that
// they protect. It knows SQL, connections and which database errors are worth a
// second try; it must not know what a record means for a call (package store
// decides that), nor Temporal.
//
// A store's life: [New] looks whether the database can be used as it is
// configured, opens a small pool of its own for the statements that keep leases
// and settle records, and returns; the methods of [Store] may then be called
// from any number of goroutines; [Store.Close] ends it. The tables come from
// package migrations and are never created here.
//
// Three rules hold for every statement. Only the database's clock decides, so
// durations are sent and never times. Rows are inserted and locked in the byte
// order of their keys, so that batches which share keys cannot deadlock. Nothing
// that serves many records waits for a record that one transaction has locked.
package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// SchemaVersion is the version of the tables that this release reads and writes.
const SchemaVersion = 1

var _ store.Store = (*Store)(nil)

// Store is a [store.Store] in Postgres. Make one with [New]; one is enough for
// a process.
type Store struct {
	pool    Pool          // the caller's
	keeper  Pool          // for Renew and Settle
	own     *pgxpool.Pool // keeper, where it is ours to close
	options Options
	sql     statements

	// waiting is held by the one settlement that waits for a locked record, so
	// that the others cannot take up all of the keeper's connections.
	waiting chan struct{}

	closed    atomic.Bool
	closeOnce sync.Once
}

// New returns a store that keeps its records through pool, after it has done
// what [Store.Check] does: it returns an error that says what to do when the
// database cannot be reached within [Options.CallTimeout], when it is read-only
// or when the schema does not fit. It also refuses a pool whose query exec mode
// cannot work behind the transaction pooler that it is connected to.
//
// Given a *[pgxpool.Pool], the store opens a pool of two connections with the
// same configuration, for renewing leases and settling records: a pool whose
// connections are all taken by activities could otherwise stop the very calls
// that let these activities end. Any other Pool is shared. The pool itself
// stays the caller's; close it after the store.
func New(ctx context.Context, pool Pool, options Options) (*Store, error) {
	if err := validPool(pool); err != nil {
		return nil, err
	}
	if err := options.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		pool:    pool,
		keeper:  pool,
		options: options.withDefaults(),
		sql:     newStatements(options.Schema),
		waiting: make(chan struct{}, 1),
	}
	if p, ok := pool.(*pgxpool.Pool); ok {
		own, err := openOwn(ctx, p)
		if err != nil {
			return nil, err
		}
		s.keeper, s.own = own, own
	}
	if err := s.Check(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.checkPooler(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the store: it waits for the calls that use the store's own
// connections, closes these, and makes later calls answer [store.ErrClosed].
// The caller's pool stays open. Close may be called more than once.
func (s *Store) Close() {
	s.closeOnce.Do(func() {
		s.closed.Store(true)
		if s.own != nil {
			s.own.Close()
		}
	})
}

func (s *Store) requireOpen(name string) error {
	if s.closed.Load() {
		return fmt.Errorf("%w: %s", store.ErrClosed, name)
	}
	return nil
}
