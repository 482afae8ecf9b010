package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// requireOwnStore makes a store with a pool of its own, and gives the caller's.
func requireOwnStore(t *testing.T, changes ...func(*pgxpool.Config)) (*Store, *pgxpool.Pool) {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	_, err := migrations.Up(t.Context(), url, migrations.Options{})
	require.NoError(t, err)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := New(t.Context(), pool, Options{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s, pool
}

func newReservation(key string) store.Reservation {
	return store.Reservation{
		Key: key, Hashes: []string{"h"}, Token: store.NewToken(), Lease: time.Minute, Retention: time.Hour, Policy: store.Reexecute,
	}
}

// sent is a group of one row of each kind, and what it was answered.
type sent struct {
	reserved, released, completed store.Reservation // released is taken over
	statements                    []statement
	found                         [1]store.Found
	acquired                      [1]store.Acquired
	settled                       [1]store.Settled
}

// newSent prepares a group that can be carried out.
func newSent(t *testing.T, s *Store, prefix string) *sent {
	t.Helper()
	f := &sent{
		reserved: newReservation(prefix + "reserved"), released: newReservation(prefix + "released"),
		completed: newReservation(prefix + "completed"),
	}
	_, err := s.Reserve(t.Context(), []store.Reservation{f.released, f.completed})
	require.NoError(t, err)
	_, err = s.Settle(t.Context(), []store.Settlement{{Key: f.released.Key, Token: f.released.Token, Outcome: store.OutcomeRelease}})
	require.NoError(t, err)
	seen := f.released.Token
	f.released.Token = store.NewToken()
	f.statements = []statement{
		s.reserve([]store.Reservation{f.reserved}, f.found[:]),
		s.acquire([]store.Acquisition{{Reservation: f.released, SeenToken: seen, SeenStatus: store.StatusInProgress}}, f.acquired[:]),
		s.settle([]store.Settlement{{Key: f.completed.Key, Token: f.completed.Token, Outcome: store.OutcomeComplete, Result: []byte("paid")}}, f.settled[:]),
	}
	return f
}

// requireStatus fails unless a record has a status; none stands for no record.
func requireStatus(t *testing.T, s *Store, r store.Reservation, want store.Status) {
	t.Helper()
	got, err := s.Get(t.Context(), r.Key)
	if want == "" {
		require.ErrorIs(t, err, store.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got.Status)
}

// requireUnsent fails unless every record is as it was before the group.
func (f *sent) requireUnsent(t *testing.T, s *Store) {
	t.Helper()
	requireStatus(t, s, f.reserved, "")
	requireStatus(t, s, f.completed, store.StatusInProgress)
	got, err := s.Get(t.Context(), f.released.Key)
	require.NoError(t, err)
	require.NotEqual(t, f.released.Token, got.Token)
}

func TestAGroupIsOneTransaction(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s, pool := requireOwnStore(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			for _, prefix := range []string{"first ", "second "} { // which finds its statements prepared
				f := newSent(t, s, prefix)
				_, err := s.send(t.Context(), f.statements)
				require.NoError(t, err)
				for _, q := range f.statements {
					require.NoError(t, q.finish(t.Context()))
				}
				require.True(t, f.found[0].Inserted)
				require.True(t, f.acquired[0].OK)
				require.Equal(t, store.SettledApplied, f.settled[0])
				requireStatus(t, s, f.reserved, store.StatusInProgress)
				requireStatus(t, s, f.completed, store.StatusCompleted)
				var transactions int
				require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text) FROM idempotency_records
					WHERE starts_with(key, $1)`, prefix).Scan(&transactions))
				require.Equal(t, 1, transactions)
			}
		})
	}

	const policy, tombstone = 5, 4 // the places of these arguments
	for place, spoiled := range []int{policy, policy, tombstone} {
		t.Run(fmt.Sprintf("of which nothing stays when statement %d of it is refused, and which one is told", place), func(t *testing.T) {
			t.Parallel()
			s, _ := requireOwnStore(t)
			f := newSent(t, s, "")
			args := f.statements[place].args(false)
			args[spoiled] = []string{"never"}
			f.statements[place].args = func(bool) []any { return args }
			failed, err := s.send(t.Context(), f.statements)
			require.Equal(t, "23514", sqlState(err))
			require.Equal(t, place, failed)
			f.requireUnsent(t, s)
		})
	}

	t.Run("whose commit fails has failed as a whole, although every statement was answered", func(t *testing.T) {
		t.Parallel()
		s, pool := requireOwnStore(t)
		f := newSent(t, s, "")
		_, err := pool.Exec(t.Context(), `
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING ERRCODE = '40001'; END $$;
			CREATE CONSTRAINT TRIGGER late AFTER INSERT ON idempotency_records
				DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
		require.NoError(t, err)
		failed, err := s.send(t.Context(), f.statements)
		require.Equal(t, codeSerialization, sqlState(err))
		require.Equal(t, whole, failed)
		f.requireUnsent(t, s)
	})

	t.Run("which does not wait long for one that has inserted the same key", func(t *testing.T) {
		t.Parallel()
		s, pool := requireOwnStore(t)
		f := newSent(t, s, "")
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `INSERT INTO idempotency_records
			SELECT (jsonb_populate_record(r, jsonb_build_object('key', $1::text))).* FROM idempotency_records r LIMIT 1`, f.reserved.Key)
		require.NoError(t, err)
		failed, err := s.send(t.Context(), f.statements)
		require.Equal(t, codeLockTimeout, sqlState(err))
		require.Equal(t, 0, failed)
		require.NoError(t, tx.Rollback(t.Context()))
		f.requireUnsent(t, s)
	})
}

func TestAGroupKnowsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		share := gathered(newCommitter(oneGroup.withDefaults(), func(context.Context, []statement) (int, error) { return whole, nil }),
			func(rows []row, answers []string) statement {
				return statement{then: func(context.Context) error {
					for i := range answers {
						answers[i] += "answer to " + rows[i].key
					}
					return nil
				}}
			}, func(r *row) string { return r.key }, weightless[row], func(r row) row { return r }).share
		for _, rows := range [][]row{keys("a", "b", "c"), keys("d"), keys("e", "f", "g", "h"), keys("i", "j")} {
			answers, errs := share(t.Context(), rows)
			require.NoError(t, errors.Join(errs...))
			for i, r := range rows {
				require.Equal(t, "answer to "+r.key, answers[i])
			}
		}
	})
}

func TestNobodyIsLeftWhenNothingIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
			d := &desk{do: func(context.Context, int, []string) error {
				time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
				return nil
			}}
			share := d.kind(Options{BatchesInFlight: groups}).share
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					for range 10 {
						if _, errs := share(t.Context(), keys(strconv.Itoa(i))); errs[0] != nil {
							t.Error(errs[0])
						}
						time.Sleep(time.Duration(i) * 100 * time.Microsecond) //nolint:forbidigo // virtual time
					}
				})
			}
			group.Wait()
		})
	}
}
