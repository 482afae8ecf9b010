// Package redisstore keeps the records in Redis. It knows scripts, connections
// and what Redis can be configured to lose; it must not know what a record means
// for a call (package store decides that), nor Temporal.
//
// A store's life: [New] looks whether the servers can be used as they are
// configured and returns; the methods of [Store] may then be called from any
// number of goroutines; [Store.Close] ends it. Nothing has to be created before:
// a record is a hash under [Options].KeyPrefix and its key.
//
// Three rules hold for every transition. It is one Lua script that touches one
// key, so that it is atomic on a single server and on a Redis Cluster alike; a
// call for many records is a pipeline of such scripts. Only the server's clock
// decides, so durations are sent and never times. And Redis itself removes a
// record, by its time to live, which is set so that it never ends while the
// record must stay; see [Store.Evict].
//
// What Redis has answered can be lost: in a failover, because replication is
// asynchronous, and in a crash, as far as the append-only file is not written.
// A record that is lost lets its activity run again. Under store.Reexecute that
// is what a missing result means anyway; Refuse and Verify promise otherwise, and
// are refused unless [Options].Durable says that nothing is lost.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

var (
	_ store.Store     = (*Store)(nil)
	_ store.Selective = (*Store)(nil)
)

// Store is a [store.Store] in Redis. Make one with [New]; one is enough for a
// process.
type Store struct {
	client  redis.UniversalClient // the caller's
	options Options
	closed  atomic.Bool
}

// New returns a store that keeps its records through client, after it has done
// what [Store.Check] does: it returns an error that says what to do when a server
// cannot be reached within [Options].CallTimeout, is older than 7.0, is a replica, may
// evict keys, refuses to write, or is a node of a cluster and the client knows no other.
//
// The client is that of a single server, of a primary found through Sentinel, or
// of a Redis Cluster, and stays the caller's: close it after the store. Its own
// options say how often a call is repeated (MaxRetries); repetitions are safe,
// since a record's token tells what was carried out before. A *[redis.Ring] is
// refused. A hook that panics does so in the goroutine that called the store; only
// one of a cluster's nodes (OnNewNode) may be run by the client in a goroutine of
// its own, where a panic ends the process.
func New(ctx context.Context, client redis.UniversalClient, options Options) (*Store, error) {
	if err := validClient(client); err != nil {
		return nil, err
	}
	if err := options.validate(); err != nil {
		return nil, err
	}
	s := &Store{client: client, options: options.withDefaults()}
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// validClient refuses what would only fail, or lose records, later.
func validClient(client redis.UniversalClient) error {
	if client == nil {
		return errors.New("dedupe: redisstore: the client is nil")
	}
	if v := reflect.ValueOf(client); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("dedupe: redisstore: the client is a nil %T", client)
	}
	if _, ring := client.(*redis.Ring); ring {
		return errors.New("dedupe: redisstore: a *redis.Ring looks for a key on another server while its own is down, " +
			"and would find no record there; give a *redis.ClusterClient, or a client of one server")
	}
	return nil
}

// Supports implements [store.Selective]: Refuse and Verify need a deployment that
// is durable.
func (s *Store) Supports(policy store.TakeoverPolicy) error {
	if policy == store.Reexecute || s.options.Durable {
		return nil
	}
	return fmt.Errorf("dedupe: redisstore: the takeover policy %q promises that a call whose outcome is unknown does not run again, "+
		"and a Redis that loses what it has answered cannot keep that: set redisstore.Options.Durable if this one does not, "+
		"use %q, or keep the records in Postgres", policy, store.Reexecute)
}

// Close makes later calls answer [store.ErrClosed]. The client stays open. Close
// may be called more than once.
func (s *Store) Close() { s.closed.Store(true) }

func (s *Store) requireOpen(name string) error {
	if s.closed.Load() {
		return fmt.Errorf("%w: %s", store.ErrClosed, name)
	}
	return nil
}
