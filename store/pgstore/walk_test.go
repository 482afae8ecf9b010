package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// walk takes one key through a life: claimed, in flight, in conflict, failed,
// claimed again, renewed, completed, replayed.
func walk(ctx context.Context, s store.Store, key string, result []byte) error {
	first := reservation(key)
	var errs []error
	expect := func(what string, ok bool, err error) {
		if err != nil || !ok {
			errs = append(errs, fmt.Errorf("%s: %s: %v", key, what, err)) //nolint:errorlint // nil when the answer is wrong
		}
	}
	claim := func(want store.Action, r store.Reservation) store.Claimed {
		c, err := store.Claim(ctx, s, r)
		expect("claim: want "+string(want)+", got "+string(c.Action), c.Action == want, err)
		return c
	}
	end := func(t store.Settlement) {
		got, err := s.Settle(ctx, []store.Settlement{t})
		expect("settle", err == nil && got[0] == store.SettledApplied, err)
	}
	claim(store.ActAcquire, first)
	other := again(first)
	other.Hashes, other.Invocation = []string{"v1:s1:bbbb"}, "run-1/6/1"
	claim(store.ActConflict, other)
	claim(store.ActWait, again(first))
	end(settlement(first, store.Settlement{Outcome: store.OutcomeFail, Failure: result}))
	second := again(first)
	claim(store.ActAcquire, second)
	renewed, err := s.Renew(ctx, []store.Lease{leaseOf(second), leaseOf(reservation(key + "-absent"))})
	expect("renew", err == nil && renewed[0] == store.LeaseRenewed && renewed[1] == store.LeaseLost, err)
	end(settlement(second, store.Settlement{Outcome: store.OutcomeComplete, Result: result, ResultSize: int64(len(result))}))
	claim(store.ActConflict, other)
	replay := claim(store.ActReplay, again(first))
	same := string(replay.Found.Result) == string(result) && (replay.Found.Result == nil) == (result == nil)
	expect("the replayed result", same, nil)
	_, err = s.Evict(ctx, 100)
	expect("evict", true, err)
	return errors.Join(errs...)
}

// results are those that a text format might spoil.
func results() map[string][]byte {
	return map[string][]byte{
		"nil": nil, "empty": {}, "NUL": {0, 'a', 0}, "invalid UTF-8": {0xff, 0xfe, 0xc3, 0x28},
		"quotes": []byte(`'"\\x00{},NULL`), "large": make([]byte, 1<<20),
	}
}

func TestEveryExecModeGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	url := requireMigrated(t)
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s := requireStore(t, requirePool(t, url, execMode(mode)), pgstore.Options{CallTimeout: time.Minute})
			for name, result := range results() {
				require.NoError(t, walk(t.Context(), s, mode.String()+name, result))
			}
		})
	}
}

func TestTransactionPooler(t *testing.T) {
	t.Parallel()
	const settings = "pool_mode = transaction\ndefault_pool_size = 3\n"
	patient := pgstore.Options{CallTimeout: time.Minute}

	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run("works with "+mode.String(), func(t *testing.T) {
			t.Parallel()
			url := localpgtest.RequirePgBouncer(t, requireMigrated(t), settings)
			s := requireStore(t, requirePool(t, url, execMode(mode)), patient)
			var group sync.WaitGroup
			errs := make([]error, 8) // more than the pooler has sessions
			for i := range errs {
				group.Go(func() {
					for name, result := range results() {
						errs[i] = errors.Join(errs[i], walk(t.Context(), s, fmt.Sprint(name, i), result))
					}
				})
			}
			group.Wait()
			require.NoError(t, errors.Join(errs...))
		})
	}

	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec} {
		for name, settings := range map[string]string{
			"the session used last":      settings,
			"one session":                "pool_mode = transaction\ndefault_pool_size = 1",
			"the session unused longest": settings + "server_round_robin = 1",
		} {
			t.Run(fmt.Sprintf("that hands out %s is refused with %s, and the remedy named", name, mode), func(t *testing.T) {
				t.Parallel()
				url := localpgtest.RequirePgBouncer(t, requireMigrated(t), settings)
				pool := requirePool(t, url, execMode(mode))
				for range 3 { // nothing is left behind that makes it look otherwise
					_, err := pgstore.New(t.Context(), pool, patient)
					require.ErrorIs(t, err, store.ErrUnavailable)
					require.ErrorIs(t, err, pgstore.ErrSessionsMixed)
					require.ErrorContains(t, err, mode.String())
					require.ErrorContains(t, err, "default_query_exec_mode=cache_describe")
				}
			})
		}
	}

	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec} {
		t.Run("that another client has used in between is refused with "+mode.String(), func(t *testing.T) {
			t.Parallel()
			url := localpgtest.RequirePgBouncer(t, requireMigrated(t), settings)
			others := requirePool(t, url, execMode(pgx.QueryExecModeExec))
			taken := 0
			pool := requirePool(t, url, execMode(mode), func(c *pgxpool.Config) {
				c.PrepareConn = func(ctx context.Context, _ *pgx.Conn) (bool, error) {
					if taken++; taken != 2 {
						return true, nil
					}
					// The session that was used last is another one then.
					first, err := others.Begin(ctx)
					if err != nil {
						return false, err
					}
					second, err := others.Begin(ctx)
					return true, errors.Join(err, first.Rollback(ctx), second.Rollback(ctx))
				}
			})
			require.ErrorIs(t, pgstore.CheckPooler(t.Context(), pool), pgstore.ErrSessionsMixed)
			require.Equal(t, 2, taken)
		})
	}

	t.Run("that has no second session to try with is not trusted", func(t *testing.T) {
		t.Parallel()
		url := localpgtest.RequirePgBouncer(t, requireMigrated(t), "pool_mode = session\ndefault_pool_size = 1")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := pgstore.CheckPooler(ctx, requirePool(t, url))
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.NotErrorIs(t, err, pgstore.ErrSessionsMixed)
		require.ErrorContains(t, err, "could not be found out")
		require.ErrorContains(t, err, "default_query_exec_mode=cache_describe")
	})

	t.Run("in session mode is tried with two connections where the pool has one", func(t *testing.T) {
		t.Parallel()
		url := localpgtest.RequirePgBouncer(t, requireMigrated(t), "pool_mode = session")
		require.NoError(t, pgstore.CheckPooler(t.Context(), requirePool(t, url, single)))
	})

	t.Run("in session mode works with prepared statements", func(t *testing.T) {
		t.Parallel()
		url := localpgtest.RequirePgBouncer(t, requireMigrated(t), "pool_mode = session")
		pool := requirePool(t, url)
		s := requireStore(t, pool, patient)
		require.NoError(t, walk(t.Context(), s, "a", []byte("paid")))
		s.Close()
		require.Equal(t, "auto", value[string](t, pool, `SHOW plan_cache_mode`), "a session is handed on as it was")
	})
}

func TestNoPooler(t *testing.T) {
	t.Parallel()
	for _, setting := range []struct{ name, value string }{
		{"standard_conforming_strings", "off"}, {"client_encoding", "SQL_ASCII"},
	} {
		t.Run(fmt.Sprintf("is seen where %s is %s", setting.name, setting.value), func(t *testing.T) {
			t.Parallel()
			pool := requirePool(t, requireMigrated(t), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams[setting.name] = setting.value })
			s := requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})
			require.NoError(t, walk(t.Context(), s, "a", []byte("paid")))
		})
	}
	t.Run("is blamed for a second connection that is refused", func(t *testing.T) {
		t.Parallel()
		var made atomic.Int64
		pool := requirePool(t, requireMigrated(t), single, func(c *pgxpool.Config) {
			c.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
				if made.Add(1) > 1 {
					return errors.New("no password yet")
				}
				return nil
			}
		})
		_, err := pgstore.New(t.Context(), pool, pgstore.Options{})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "a connection of the pool does not answer")
	})
}

func TestOneOfManyClaimsAcquires(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	for _, callers := range []int{10, 100} {
		for round := range 50 {
			actions := claimAtOnce(t, b.store, fmt.Sprint(callers, "/", round), callers)
			require.Equal(t, map[store.Action]int{store.ActAcquire: 1, store.ActWait: callers - 1}, actions)
		}
	}
}

// claimAtOnce claims one key in many goroutines and counts the answers.
func claimAtOnce(t *testing.T, s store.Store, key string, callers int) map[store.Action]int {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	actions := map[store.Action]int{}
	for range callers {
		group.Go(func() {
			<-start
			c, err := store.Claim(t.Context(), s, reservation(key))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			actions[c.Action]++
		})
	}
	close(start)
	group.Wait()
	return actions
}
