package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Owners race for calls with leases that they and their transactions outlive, fail,
// and lose their backends. Each call is written once.
func TestInTxHammer(t *testing.T) {
	t.Parallel()
	b, _, _ := setupTx(t, func(c *pgxpool.Config) { c.MaxConns = 12 })
	const calls, owners = 8, 4
	levels := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
	ctx := context.WithoutCancel(t.Context())

	// attempt is one execution of a call, and tells whether the call has a result.
	attempt := func(key string, level pgx.TxIsoLevel) bool {
		r := reservation(key)
		r.Lease = 150 * time.Millisecond
		claimed, err := store.Claim(ctx, b.store, r)
		switch {
		case err != nil, claimed.Action == store.ActWait:
			return false
		case claimed.Action == store.ActReplay:
			return true
		}
		if rand.N(2) == 0 { // suspended for longer than its lease
			<-time.After(200 * time.Millisecond)
		}
		_, err = pgstore.InTxWith(ownerOf(b.store, r).context(t), b.pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) (string, error) {
			if _, err := tx.Exec(ctx, `INSERT INTO transfers (id) VALUES ($1)`, key); err != nil {
				return "", err
			}
			switch rand.N(4) {
			case 0: // for longer than the lease
				_, err := tx.Exec(ctx, `SELECT pg_sleep(0.25)`)
				return "slow", err
			case 1:
				return "", errDeclined
			case 2:
				_, err := b.pool.Exec(ctx, `SELECT pg_terminate_backend($1, 10000)`, tx.Conn().PgConn().PID())
				return "dead", err
			}
			return "fast", nil
		})
		return err == nil
	}
	var all sync.WaitGroup
	for n := range calls {
		for range owners {
			all.Go(func() {
				for !attempt(fmt.Sprint("call ", n), levels[n%len(levels)]) {
					<-time.After(rand.N(50 * time.Millisecond))
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, calls, b.transfers(t))
	require.Equal(t, calls, value[int](t, b.pool, `SELECT count(DISTINCT id) FROM transfers`))
	require.Equal(t, calls, value[int](t, b.pool, `SELECT count(*) FROM idempotency_records WHERE status = 'completed'`))
}
