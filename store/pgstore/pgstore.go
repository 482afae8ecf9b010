// Package pgstore keeps the records in Postgres, beside the business data that
// they protect. It knows SQL, connections and which database errors are worth a
// second try; it must not know what a record means for a call (package store
// decides that), nor Temporal.
//
// A store's life: [New] looks whether the database can be used as it is
// configured, opens a small pool of its own, and returns; the methods of [Store] may then be called
// from any number of goroutines; [Store.Close] ends it. The tables come from
// package migrations and are never created here.
//
// Three rules hold for every statement. Only the database's clock decides, so
// durations are sent and never times. Rows are inserted and locked in the byte
// order of their keys, so that batches which share keys cannot deadlock. Nothing
// that serves many records waits for a record that one transaction has locked.
//
// Concurrent calls share statements and commits; see [Options.BatchSize].
package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// SchemaVersion is the version of the tables that this release reads and writes.
const SchemaVersion = 1

var _ store.Store = (*Store)(nil)

// Store is a [store.Store] in Postgres. Make one with [New]; one is enough for
// a process.
type Store struct {
	callers Pool          // the caller's
	pool    Pool          // own, or the caller's
	own     *pgxpool.Pool // ours, to close; nil where the caller's is shared
	options Options
	sql     statements
	// callersSQL are those that the caller's sessions carry out, which may keep
	// plans as they like.
	callersSQL statements

	// How concurrent calls share statements.
	getting   kind[string, store.Found]
	reserving kind[store.Reservation, store.Found]
	acquiring kind[store.Acquisition, store.Acquired]
	settling  kind[store.Settlement, store.Settled]

	maintenance maintenance
	// evictFrom is where the last full batch of an eviction ended, in
	// microseconds since the epoch.
	evictFrom atomic.Int64
	// now is this machine's clock, a second witness that a retention is over.
	now func() time.Time

	// Who waits for a locked record, or for one that is being inserted.
	settler, reserver turns

	closed    atomic.Bool
	closeOnce sync.Once
}

// New returns a store that keeps its records through pool, after it has done
// what [Store.Check] does: it returns an error that says what to do when the
// database cannot be reached within [Options.CallTimeout], when it is read-only
// or when the schema does not fit. It also refuses a pool whose query exec mode
// cannot work under the settings of its sessions, or behind the transaction pooler
// that it is connected to, or could not be tried there in that time.
//
// Given a *[pgxpool.Pool], the store opens a small pool of its own with the same
// configuration (seven connections, see [Options.BatchesInFlight], made when they
// are needed): a pool whose connections are all taken by activities could
// otherwise stop the very calls that let these activities end. Where prepared
// statements are kept, the sessions of that pool also keep their plans, which
// spares the server half of the work for a single call, and concurrent calls that
// write share round trips, unless the pool has a tracer that is no pgx.BatchTracer. Any
// other Pool is shared, and its statements are planned each time. The pool itself stays the
// caller's; close it after the store.
func New(ctx context.Context, pool Pool, options Options) (*Store, error) {
	if err := validPool(pool); err != nil {
		return nil, err
	}
	if err := options.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		callers: pool,
		pool:    pool,
		options: options.withDefaults(),
		settler: newTurns(), reserver: newTurns(), now: time.Now,
	}
	s.callersSQL = newStatements(s.options, false)
	s.sql = s.callersSQL
	s.maintenance = newMaintenance(s.options)
	if p, ok := pool.(*pgxpool.Pool); ok {
		own, err := openOwn(ctx, p, s.options.connections())
		if err != nil {
			return nil, err
		}
		s.own = own
	}
	if err := s.Check(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.checkPooler(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if s.own != nil {
		s.pool = s.own
	}
	if s.keepsPlans(ctx) {
		s.sql = newStatements(s.options, true)
	}
	s.gather()
	return s, nil
}

// gather sets up how calls share statements. Reservations come first in their
// groups: they are the only ones that may wait, and hold nothing while they do.
func (s *Store) gather() {
	own := func() *committer { return newCommitter(s.options, s.send) }
	writing := own()
	writes := func() *committer { return writing }
	if !s.joint() {
		writes = own
	}
	s.getting = gathered(own(), s.get, func(key *string) string { return *key }, weightless[string], strings.Clone)
	s.reserving = gathered(writes(), s.reserve, reservationKey, weightless[store.Reservation], cloneReservation)
	s.acquiring = gathered(writes(), s.acquire, acquisitionKey, weightless[store.Acquisition], cloneAcquisition)
	s.settling = gathered(writes(), s.settle, settlementKey, settlementBytes, cloneSettlement)
	s.reserving.alone = direct(s.reserveAlone)
	if s.options.BatchSize == 1 {
		s.reserving.share = dividing(s.reserving.alone)
	}
}

// joint tells whether several statements can be carried out at once: not by a Pool, nor
// under a tracer that is told only when such a statement ends.
func (s *Store) joint() bool {
	if s.own == nil {
		return false
	}
	tracer := s.own.Config().ConnConfig.Tracer
	_, traces := tracer.(pgx.BatchTracer)
	return tracer == nil || traces
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
