package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// joint are kinds of calls whose rows a test puts into one group.
type joint struct {
	*committer
	reserving *queueOf[store.Reservation, store.Found]
	settling  *queueOf[store.Settlement, store.Settled]
}

func newJoint(s *Store) joint {
	t := newCommitter(oneGroup.withDefaults(), s.send)
	gathered(t, s.reserve, reservationKey, weightless[store.Reservation], cloneReservation)
	gathered(t, s.settle, settlementKey, settlementBytes, cloneSettlement)
	return joint{t, t.queues[0].(*queueOf[store.Reservation, store.Found]), t.queues[1].(*queueOf[store.Settlement, store.Settled])}
}

// run has two reservations and a completion travel together.
func (j joint) run(a, b, completed store.Reservation) (reserved *call[store.Reservation, store.Found], settled *call[store.Settlement, store.Settled]) {
	reserved, waiters := newCall[store.Reservation, store.Found]([]store.Reservation{a, b}, cloneReservation)
	settled, waiter := newCall[store.Settlement, store.Settled](
		[]store.Settlement{{Key: completed.Key, Token: completed.Token, Outcome: store.OutcomeComplete, Result: []byte("paid")}}, cloneSettlement)
	j.mu.Lock()
	j.reserving.waiters = append(j.reserving.waiters, &waiters[0], &waiters[1])
	j.settling.waiters = append(j.settling.waiters, &waiter[0])
	j.dispatch()
	j.mu.Unlock()
	<-reserved.done
	<-settled.done
	return reserved, settled
}

func TestTroubleOfOneRowIsItsOwn(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"which a trigger refuses": `
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF NEW.key = 'bad' THEN RAISE 'frozen'; END IF; RETURN NEW; END $$;
			CREATE TRIGGER frozen BEFORE INSERT ON idempotency_records FOR EACH ROW EXECUTE FUNCTION refuse()`,
		"whose record is damaged": `
			CREATE EXTENSION pg_surgery;
			INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, '{"key": "bad", "status": "completed"}')).* FROM idempotency_records r;
			UPDATE idempotency_records SET response_body = (SELECT decode(string_agg(md5(i::text), ''), 'hex') FROM generate_series(1, 1000) i) WHERE key = 'bad';
			DO $$ DECLARE toast text := (SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'idempotency_records'::regclass);
			BEGIN EXECUTE format('SELECT heap_force_kill(%L::regclass, (SELECT array_agg(ctid) FROM %s))', toast, toast); END $$`,
		"whose record cannot be read": `
			INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, '{"key": "bad", "expires_at": "infinity"}')).* FROM idempotency_records r`,
	} {
		t.Run("a reservation "+name, func(t *testing.T) {
			t.Parallel()
			s, pool := requireOwnStore(t)
			paid, neighbour, bad := newReservation("paid"), newReservation("neighbour"), newReservation("bad")
			_, err := s.Reserve(t.Context(), []store.Reservation{paid})
			require.NoError(t, err)
			_, err = pool.Exec(t.Context(), spoil) // one of them needs the extensions that come with Postgres
			require.NoError(t, err)
			reserved, settled := newJoint(s).run(bad, neighbour, paid)
			require.NoError(t, settled.errs[0])
			require.Equal(t, store.SettledApplied, settled.answers[0])
			require.Equal(t, []error{errDivide, errDivide}, reserved.errs)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, errs := s.reserving.alone(ctx, []store.Reservation{neighbour})
			require.NoError(t, errs[0])
			_, err = s.Reserve(t.Context(), []store.Reservation{bad})
			require.Error(t, err)
			requireStatus(t, s, neighbour, store.StatusInProgress)
			requireStatus(t, s, paid, store.StatusCompleted)
		})
	}
}

func TestTheServerSoonNoticesThatAWorkerWasCutOff(t *testing.T) {
	t.Parallel()
	s, _ := requireOwnStore(t)
	var idle string
	var local bool // through a socket, which has no such thing
	require.NoError(t, s.own.QueryRow(t.Context(), `SELECT current_setting('tcp_keepalives_idle'), inet_client_addr() IS NULL`).Scan(&idle, &local))
	require.Equal(t, map[bool]string{false: "15", true: "0"}[local], idle)
}

// faultyTracer panics when a batch begins.
type faultyTracer struct{ queryTracer }

func (faultyTracer) TraceBatchStart(context.Context, *pgx.Conn, pgx.TraceBatchStartData) context.Context {
	panic("tracer")
}
func (faultyTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (faultyTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// queryTracer counts the statements that ended without having begun.
type queryTracer struct{ orphans *atomic.Int64 }

type begun struct{}

func (queryTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, begun{}, true)
}

func (q queryTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(begun{}) == nil {
		q.orphans.Add(1)
	}
}

func TestTracers(t *testing.T) {
	t.Parallel()

	t.Run("that panic cost the store no connection", func(t *testing.T) {
		t.Parallel()
		s, _ := requireOwnStore(t, func(c *pgxpool.Config) {
			c.ConnConfig.Tracer = faultyTracer{queryTracer{new(atomic.Int64)}}
		})
		require.True(t, s.joint())
		paid := newReservation("paid")
		_, err := s.Reserve(t.Context(), []store.Reservation{paid})
		require.NoError(t, err)
		reserved, settled := newJoint(s).run(newReservation("a"), newReservation("b"), paid)
		require.Equal(t, []error{errDivide, errDivide, errDivide}, append(reserved.errs, settled.errs...))
		require.Zero(t, s.own.Stat().AcquiredConns())
		s.Close() // would wait for them
	})

	t.Run("of queries only see each statement begin and end", func(t *testing.T) {
		t.Parallel()
		tracer := queryTracer{new(atomic.Int64)}
		s, _ := requireOwnStore(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer })
		require.False(t, s.joint())
		f := newSent(t, s, "")
		for _, q := range f.statements {
			_, err := s.send(t.Context(), []statement{q})
			require.NoError(t, err)
		}
		require.Zero(t, tracer.orphans.Load())
	})
}

// hold inserts keys in a transaction that stays open; the record "mine" must exist.
func hold(t *testing.T, pool *pgxpool.Pool, keys ...string) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	for _, key := range keys {
		_, err := tx.Exec(t.Context(), `INSERT INTO idempotency_records
			SELECT (jsonb_populate_record(r, jsonb_build_object('key', $1::text))).* FROM idempotency_records r WHERE key = 'mine'`, key)
		require.NoError(t, err)
	}
	return tx
}

func numbered(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(name, i)
	}
	return names
}

func TestAReservationWithoutATurn(t *testing.T) {
	t.Parallel()
	s, pool := requireOwnStore(t)
	_, err := s.Reserve(t.Context(), []store.Reservation{newReservation("mine")})
	require.NoError(t, err)
	held := hold(t, pool, "held")
	require.True(t, s.reserver.take(t.Context())) // somebody else has it, and keeps it
	defer s.reserver.leave()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, errs := s.reserving.alone(ctx, []store.Reservation{newReservation("held")})
	require.Equal(t, codeLockTimeout, sqlState(errs[0]), "it waits for the turn, not for the key")
	require.Less(t, pool.Stat().AcquiredConns(), int32(2))
	require.Zero(t, s.own.Stat().AcquiredConns())

	answered := make(chan error, 1)
	go func() {
		_, err := s.Reserve(t.Context(), []store.Reservation{newReservation("held")})
		answered <- err
	}()
	require.Eventually(t, func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
		return err == nil && n > 0
	}, 20*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return s.own.Stat().AcquiredConns() == 0 }, 20*time.Second, time.Millisecond, "it holds a connection while it queues")
	require.NoError(t, held.Rollback(t.Context()))
	require.NoError(t, <-answered, "it looks again while it queues")
}

func TestStoreOutlivesAColumnsType(t *testing.T) {
	t.Parallel()
	s, pool := requireOwnStore(t)
	mine := newReservation("mine")
	_, err := s.Reserve(t.Context(), []store.Reservation{mine})
	require.NoError(t, err)
	_, err = s.Get(t.Context(), mine.Key)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `ALTER TABLE idempotency_records ALTER COLUMN generation TYPE bigint`)
	require.NoError(t, err)
	_, err = s.Get(t.Context(), mine.Key)
	require.NoError(t, err)
	f := newSent(t, s, "")
	_, err = s.send(t.Context(), f.statements)
	require.NoError(t, err)
}

func TestGroupsAreShortBesideCalls(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Millisecond, 200 * time.Millisecond: 25 * time.Millisecond, time.Minute: stalledAfter,
	} {
		require.Equal(t, want, Options{CallTimeout: timeout}.stalledAfter())
	}
}

func TestReservationsThatWaitLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, defaultBatchSize} {
		t.Run(fmt.Sprintf("with %d in a batch", size), func(t *testing.T) {
			t.Parallel()
			requireConnectionsForOthers(t, size)
		})
	}
}

func requireConnectionsForOthers(t *testing.T, size int) {
	t.Helper()
	_, pool := requireOwnStore(t)
	s, err := New(t.Context(), pool, Options{CallTimeout: 6 * time.Second, BatchSize: size})
	require.NoError(t, err)
	defer s.Close()
	mine := newReservation("mine")
	_, err = s.Reserve(t.Context(), []store.Reservation{mine})
	require.NoError(t, err)
	const held = 24
	hold(t, pool, numbered("held ", held)...)
	var all sync.WaitGroup
	var refused atomic.Int64
	for i := range held {
		all.Go(func() {
			if _, err := s.Reserve(t.Context(), []store.Reservation{newReservation(fmt.Sprint("held ", i))}); err != nil {
				refused.Add(1)
			}
		})
	}
	groups := defaultBatchesInFlight
	if size == 1 {
		groups = 0
	}
	const turn, late = 1, 1
	for i := 0; refused.Load() < held; i++ {
		var waiting int // for more than a glance
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '100 ms'`).Scan(&waiting))
		require.LessOrEqual(t, waiting, groups+turn+late, "of %d connections", s.own.Config().MaxConns)
		renewed, err := s.Renew(t.Context(), []store.Lease{{Key: mine.Key, Token: mine.Token, Duration: time.Minute}})
		require.NoError(t, err)
		require.Equal(t, store.LeaseRenewed, renewed[0])
		free := newReservation(fmt.Sprint("free ", i))
		_, err = s.Reserve(t.Context(), []store.Reservation{free})
		require.NoError(t, err)
		settled, err := s.Settle(t.Context(), []store.Settlement{{Key: free.Key, Token: free.Token, Outcome: store.OutcomeComplete}})
		require.NoError(t, err)
		require.Equal(t, store.SettledApplied, settled[0])
	}
	all.Wait()
}

func TestOnlyTroubleThatARowMayHaveDivides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "P0001"}, true},
		{&pgconn.PgError{Code: "XX001"}, true},
		{&pgconn.PgError{Code: "23514"}, true},
		{&pgconn.PgError{Code: codeDeadlock}, true},
		{&pgconn.PgError{Code: codeCancelled}, true},
		{&pgconn.PgError{Code: codeNoPrivilege, Routine: "ExecWithCheckOptions"}, true},
		{scanError{errAnswer}, true},
		{&pgconn.PgError{Code: codeNoPrivilege, Routine: "aclcheck_error"}, false},
		{&pgconn.PgError{Code: codeReadOnly}, false},
		{&pgconn.PgError{Code: codeUndefinedTable}, false},
		{&pgconn.PgError{Code: "53300"}, false},
		{&pgconn.PgError{Code: "57P01"}, false},
		{&pgconn.PgError{Code: "08006"}, false},
		{context.DeadlineExceeded, false},
	} {
		require.Equal(t, c.want, divisible(c.err), "%v", c.err)
	}
}

func TestACallOfManyRowsIsDividedWithoutBatchesToo(t *testing.T) {
	t.Parallel()
	_, pool := requireOwnStore(t)
	s, err := New(t.Context(), pool, Options{BatchSize: 1})
	require.NoError(t, err)
	defer s.Close()
	bad := newReservation("bad")
	bad.Policy = "never" // which the table refuses
	found, errs := carryRows(t.Context(), []store.Reservation{bad, newReservation("good")}, s.reserving)
	require.Error(t, errs[0])
	require.NoError(t, errs[1])
	require.True(t, found[1].Inserted)
}
