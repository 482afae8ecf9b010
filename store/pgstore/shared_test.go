package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestSharedStatements(t *testing.T) {
	t.Parallel()

	t.Run("are not held up by one of their keys that an open transaction has inserted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{CallTimeout: time.Minute})
		pattern := reservation("pattern")
		insert(t, b.store, pattern)
		columns := value[string](t, b.pool, `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
			WHERE table_name = 'idempotency_records' AND column_name <> 'key' AND is_generated = 'NEVER'`)
		for _, key := range []string{"open 1", "open 2"} {
			b.begin(t, fmt.Sprintf(`INSERT INTO idempotency_records (key, %s) SELECT $1, %[1]s FROM idempotency_records WHERE key = 'pattern'`, columns), key)
		}
		ctx, leave := context.WithCancel(t.Context())
		var blocked sync.WaitGroup
		reserve := func(key string) {
			blocked.Go(func() {
				_, err := b.store.Reserve(ctx, []store.Reservation{reservation(key)})
				if ctx.Err() == nil {
					t.Errorf("%s: %v", key, err)
				}
			})
		}
		reserve("open 1")
		b.requireWaiting(t, 1)
		// What comes now shares the next statement, if it comes in time.
		reserve("open 2")
		<-time.After(20 * time.Millisecond)
		patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		found, err := b.store.Reserve(patience, []store.Reservation{reservation("free")})
		require.NoError(t, err)
		require.True(t, found[0].Inserted)
		leave()
		blocked.Wait()
	})

	t.Run("give each of many callers what it has asked for", func(t *testing.T) {
		t.Parallel()
		b := setup(t, pgstore.Options{CallTimeout: time.Minute, BatchSize: 8})
		const callers, rounds = 24, 30
		var all sync.WaitGroup
		for n := range callers {
			all.Go(func() {
				for i := range rounds {
					key := fmt.Sprintf("call %d of %d", i, n)
					r := reservation(key)
					r.Origin.WorkflowID = key
					ctx, leave := context.WithCancel(context.WithoutCancel(t.Context()))
					defer leave()
					if rand.N(4) == 0 {
						time.AfterFunc(rand.N(10*time.Millisecond), leave)
					}
					claimer, err := store.NewClaimer(b.store, r)
					if err != nil {
						t.Error(err)
						return
					}
					claimed, err := claimer.Claim(ctx)
					if err != nil {
						continue
					}
					if claimed.Action != store.ActAcquire || claimed.Lease.Key != key {
						t.Errorf("%s: %+v", key, claimed)
					}
					buffer := []byte("result of " + key + " " + r.Token.String())
					settled, err := b.store.Settle(ctx, []store.Settlement{{Key: key, Token: claimed.Lease.Token, Outcome: store.OutcomeComplete, Result: buffer}})
					if err == nil && settled[0] != store.SettledApplied {
						t.Errorf("%s: %v", key, settled)
					}
					clear(buffer) // its owner's again
				}
			})
		}
		all.Wait()
		require.Zero(t, value[int](t, b.pool, `SELECT count(*) FROM idempotency_records
			WHERE workflow_id <> key OR status = 'completed' AND response_body <> convert_to('result of ' || key || ' ' || owner_token::text, 'UTF8')`))
		require.Positive(t, value[int](t, b.pool, `SELECT count(*) FROM idempotency_records WHERE status = 'completed'`))
	})
}
