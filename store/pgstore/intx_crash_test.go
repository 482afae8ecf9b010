package pgstore_test

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// commitProxy stands between a pool and its database. It can withhold a COMMIT from
// the server, or its answer from the client; in both cases the client loses its
// connection.
type commitProxy struct {
	listener  net.Listener
	server    string
	withholds atomic.Bool // the request
	loses     atomic.Bool // the answer
	all       sync.WaitGroup
}

func requireCommitProxy(t *testing.T, databaseURL string) (*commitProxy, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &commitProxy{listener: listener, server: u.Host}
	p.all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); p.all.Wait() })
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *commitProxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	var losing atomic.Bool
	var both sync.WaitGroup
	carry := func(from, to net.Conn, stop func([]byte) bool) {
		defer func() { _, _ = client.Close(), server.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil || stop(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	both.Go(func() {
		carry(client, server, func(request []byte) bool {
			if !bytes.Contains(request, []byte("commit")) {
				return false
			}
			losing.Store(p.loses.Load())
			return p.withholds.Load()
		})
	})
	both.Go(func() { carry(server, client, func([]byte) bool { return losing.Load() }) })
	both.Wait()
}

func TestInTxCrash(t *testing.T) {
	t.Parallel()

	t.Run("a commit whose answer is lost is found, and one that never arrived as well", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		p, address := requireCommitProxy(t, b.url)
		far := requirePool(t, address, func(c *pgxpool.Config) {
			// Each statement is one request, with its text.
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		})
		p.withholds.Store(true)
		_, err := pgstore.InTx(e.context(t), far, transfer(t.Context()))
		require.ErrorIs(t, err, errUnavailable)
		require.ErrorContains(t, err, "the commit was not answered")
		require.Equal(t, []string{"committing", "rolled back"}, e.notes)
		b.requireOwned(t, r)

		p.withholds.Store(false)
		p.loses.Store(true)
		got, err := pgstore.InTx(e.context(t), far, transfer(t.Context()))
		require.NoError(t, err)
		require.Equal(t, "receipt", got)
		require.Equal(t, 1, b.transfers(t))
		require.Equal(t, store.StatusCompleted, get(t, b.store, r).Status)
		require.Equal(t, "committed", e.notes[len(e.notes)-1])
		p.loses.Store(false)
		far.Close()
	})

	t.Run("nobody knows where the record cannot be read either", func(t *testing.T) {
		t.Parallel()
		b, _, e := setupTx(t)
		p, address := requireCommitProxy(t, b.url)
		far := requirePool(t, address, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec })
		p.loses.Store(true)
		_, err := pgstore.InTx(e.context(t), far, func(tx pgx.Tx) (string, error) {
			defer b.store.Close()
			return transfer(t.Context())(tx)
		})
		require.ErrorIs(t, err, errDoubtful)
		require.Equal(t, []string{"committing", "doubtful"}, e.notes)
		require.Equal(t, 1, b.transfers(t))
		p.loses.Store(false)
		far.Close()
	})

	t.Run("a backend that is killed between the writes and the commit leaves neither", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		_, err := pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			_, err := transfer(t.Context())(tx)
			require.True(t, value[bool](t, b.pool, `SELECT pg_terminate_backend($1, 10000)`, tx.Conn().PgConn().PID()))
			return "receipt", err
		})
		require.ErrorIs(t, err, errUnavailable)
		b.requireOwned(t, r)
		_, err = pgstore.InTx(e.context(t), b.pool, transfer(t.Context()))
		require.NoError(t, err)
		require.Equal(t, 1, b.transfers(t))
	})

	t.Run("a stale owner waits for its heir, writes nothing and returns the heir's result", func(t *testing.T) {
		t.Parallel()
		b, r, stale := setupTx(t)
		heir := again(r)
		settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeRelease, EffectPossible: true}))
		got, err := b.store.Acquire(t.Context(), []store.Acquisition{{Reservation: heir, SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
		require.NoError(t, err)
		require.True(t, got[0].OK)

		_, err = pgstore.InTx(stale.context(t), b.pool, never)
		require.ErrorIs(t, err, errLost, "the heir is at work")

		answers := make(chan string, 1)
		receipt, err := pgstore.InTx(ownerOf(b.store, heir).context(t), b.pool, func(tx pgx.Tx) (string, error) {
			ctx := stale.context(t)
			go func() {
				answer, err := pgstore.InTx(ctx, b.pool, never)
				answers <- errors.Join(err, errors.New(answer)).Error()
			}()
			b.requireWaiting(t, 1)
			return transfer(t.Context())(tx)
		})
		require.NoError(t, err)
		require.Equal(t, "receipt", receipt)
		require.Equal(t, "receipt", <-answers)
		require.Equal(t, 1, b.transfers(t))
	})

	t.Run("a lease that runs out meanwhile is taken over by nobody, after a failure either", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		expire := func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() - interval '1 s' WHERE key = $1`, r.Key)
			require.NoError(t, err)
		}
		outside := b.begin(t, `UPDATE idempotency_records SET lease_expires_at = clock_timestamp() + interval '1 s', lease_ms = 1 WHERE key = $1`, r.Key)
		require.NoError(t, outside.Commit(t.Context()))
		heir := again(r)
		acquire := func() bool {
			got, err := b.store.Acquire(t.Context(), []store.Acquisition{{Reservation: heir, SeenToken: r.Token, SeenStatus: store.StatusInProgress}})
			require.NoError(t, err)
			return got[0].OK
		}
		_, err := pgstore.InTx(e.context(t), b.pool, func(pgx.Tx) (string, error) {
			require.Eventually(t, func() bool { return !get(t, b.store, r).LeaseLive() }, 20*time.Second, 10*time.Millisecond)
			require.False(t, acquire(), "the row is locked")
			// As an execution under Refuse does, which takes the owner for dead.
			_, err := b.store.Settle(t.Context(), []store.Settlement{{Key: r.Key, Token: r.Token, Outcome: store.OutcomeHold}})
			require.ErrorIs(t, err, store.ErrContended, "the owner is alive, and the store within reach")
			return "", errDeclined
		})
		require.ErrorIs(t, err, errDeclined)
		require.False(t, acquire())
		b.requireOwned(t, r)

		_, err = pgstore.InTx(e.context(t), b.pool, func(tx pgx.Tx) (string, error) {
			expire(tx) // as if it had lasted
			return transfer(t.Context())(tx)
		})
		require.NoError(t, err)
		require.False(t, acquire(), "it is completed")
		require.Equal(t, 1, b.transfers(t))
	})

	t.Run("a serialization failure is told apart, and is no outcome", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		execute(t, b.pool, `CREATE TABLE accounts (id int PRIMARY KEY, cents int NOT NULL)`)
		execute(t, b.pool, `INSERT INTO accounts VALUES (1, 100), (2, 100)`)
		serializable := pgx.TxOptions{IsoLevel: pgx.Serializable}
		// Write skew: each reads both accounts, and changes one.
		skew := func(tx pgx.Tx, id int) error {
			var sum int
			err := tx.QueryRow(t.Context(), `SELECT sum(cents) FROM accounts`).Scan(&sum)
			if err == nil {
				_, err = tx.Exec(t.Context(), `UPDATE accounts SET cents = cents - 100 WHERE id = $1`, id)
			}
			return err
		}
		tries := 0
		try := func() (string, error) {
			return pgstore.InTxWith(e.context(t), b.pool, serializable, func(tx pgx.Tx) (string, error) {
				tries++
				if tries == 1 {
					rival, err := b.pool.BeginTx(t.Context(), serializable)
					require.NoError(t, err)
					require.NoError(t, skew(tx, 1))
					require.NoError(t, skew(rival, 2))
					require.NoError(t, rival.Commit(t.Context()))
				}
				return transfer(t.Context())(tx)
			})
		}
		_, err := try()
		require.ErrorIs(t, err, errSerialization)
		b.requireOwned(t, r)
		got, err := try()
		require.NoError(t, err)
		require.Equal(t, "receipt", got)
		require.Equal(t, 1, b.transfers(t))
	})

	t.Run("a renewal at the moment of the lock is no serialization failure", func(t *testing.T) {
		t.Parallel()
		b, r, e := setupTx(t)
		// Whoever waits for this lock under a strict level fails, and looks again.
		renewal := b.begin(t, `UPDATE idempotency_records SET updated_at = clock_timestamp() WHERE key = $1`, r.Key)
		done := make(chan error, 1)
		ctx := e.context(t)
		go func() {
			_, err := pgstore.InTxWith(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, transfer(ctx))
			done <- err
		}()
		b.requireWaiting(t, 1)
		require.NoError(t, renewal.Commit(t.Context()))
		require.NoError(t, <-done)
		require.Equal(t, []string{"committing", "committed"}, e.notes)
	})
}
