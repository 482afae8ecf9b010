package pgstore_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pashagolub/pgxmock/v4"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// forgetful is a pool that carries a statement out and loses the answer, as often
// as lose says.
type forgetful struct {
	*pgxpool.Pool
	lose int
}

func (f *forgetful) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := f.Pool.Query(ctx, sql, args...)
	if err == nil && f.lose > 0 {
		f.lose--
		rows.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return rows, err
}

func TestAChangeWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	pool := &forgetful{Pool: requirePool(t, requireMigrated(t))}
	s := requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})
	b := bundle{pool: pool.Pool, store: s}
	for _, verb := range []store.Verb{store.VerbRelease, store.VerbComplete, store.VerbFail, store.VerbPurge, store.VerbDelete} {
		r := underPolicy(string(verb), store.Refuse)
		if verb == store.VerbPurge {
			insert(t, s, r)
			settle(t, s, complete(r, "paid"))
		} else {
			b.hold(t, r)
		}
		c := b.change(t, r.Key, verb, func(c *store.Change) { c.FreshKey = verb == store.VerbRelease })
		pool.lose = 2
		require.Equal(t, store.ResolvedDone, b.resolve(t, c), verb)
		require.Zero(t, pool.lose)
		trail, err := s.Admin().Audit(t.Context(), r.Key, 10)
		require.NoError(t, err)
		require.Len(t, trail, 1, verb)
	}
	require.Equal(t, 1, b.look(t, string(store.VerbRelease)).Generation)
}

// Nothing was changed only where no answer was lost: what a later try is refused with
// says nothing of one that was carried out before it.
func TestWhetherAnErrorSaysThatNothingWasChanged(t *testing.T) {
	t.Parallel()
	refused := &pgconn.PgError{Code: "42501", Message: "permission denied for table idempotency_audit"}
	for name, c := range map[string]struct {
		tries []error
		want  bool
	}{
		"refused":                      {[]error{refused}, true},
		"refused after a deadlock":     {[]error{&pgconn.PgError{Code: "40P01"}, refused}, true},
		"lost":                         {[]error{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, false},
		"refused after a lost answer":  {[]error{io.ErrUnexpectedEOF, refused}, false},
		"refused after a shutdown":     {[]error{&pgconn.PgError{Code: "57P01"}, refused}, false},
		"a connection that was closed": {[]error{&pgconn.PgError{Code: "57P01"}, &pgconn.PgError{Code: "57P01"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMock(t)
			s := m.store(pgstore.Options{CallTimeout: time.Second})
			expect := func() *pgxmock.ExpectedQuery {
				return m.ExpectQuery("").WithArgs(slices.Repeat([]any{pgxmock.AnyArg()}, 19)...)
			}
			for _, err := range c.tries {
				expect().WillReturnError(err)
			}
			if !errors.Is(c.tries[len(c.tries)-1], refused) { // it is tried until its time is over
				expect().WillDelayFor(time.Minute).WillReturnError(refused)
			}
			r := reservation("a")
			_, err := s.Admin().Resolve(t.Context(), store.Order{Actor: "ann", Reason: "x"}, []store.Change{{
				Key: r.Key, Verb: store.VerbRelease, Keep: time.Hour, Token: store.NewToken(), Seen: store.Seen{Token: r.Token, Status: store.StatusFailed, Held: true},
			}})
			require.Error(t, err)
			require.Equal(t, c.want, pgstore.Unchanged(err), err)
			if errors.Is(c.tries[len(c.tries)-1], refused) {
				require.ErrorContains(t, err, "the database user lacks a privilege on the table idempotency_audit (SQLSTATE 42501)")
			}
		})
	}
}

// operated takes one key through an operator's night.
func operated(t *testing.T, b bundle, key string) {
	t.Helper()
	r := underPolicy(key, store.Refuse)
	b.hold(t, r)
	a := b.store.Admin()
	held, err := a.List(t.Context(), store.Query{Held: true, Limit: 10, Ranges: []store.KeyRange{store.KeysWithPrefix(key)}})
	require.NoError(t, err)
	require.Equal(t, []string{key}, keysOf(held))
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, key, store.VerbRelease)))
	given := func(c *store.Change) { c.Result = []byte{0, 0xff, '\''} }
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, key, store.VerbComplete, given)))
	require.Equal(t, []byte{0, 0xff, '\''}, get(t, b.store, r).Result)
	listed, err := a.List(t.Context(), store.Query{Status: store.StatusCompleted, Limit: 10, Ranges: []store.KeyRange{store.KeysWithPrefix(key)}})
	require.NoError(t, err)
	require.Equal(t, []string{key}, keysOf(listed))
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, key, store.VerbPurge)))
	for _, pages := range []int64{0, 1, 1000} {
		_, err = a.Stats(t.Context(), store.StatsOptions{MaxPages: pages})
		require.NoError(t, err)
	}
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, key, store.VerbDelete)))
	trail, err := a.Audit(t.Context(), key, 10)
	require.NoError(t, err)
	require.Len(t, trail, 4)
	require.NotEmpty(t, trail[0].Before)
}

func TestOperatorsWorkInEveryExecMode(t *testing.T) {
	t.Parallel()
	url := requireMigrated(t)
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := requirePool(t, url, execMode(mode))
			operated(t, bundle{pool: pool, store: requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})}, mode.String())
		})
	}
	t.Run("behind a transaction pooler, in a schema of its own", func(t *testing.T) {
		t.Parallel()
		pool := requirePool(t, localpgtest.RequirePgBouncer(t, requireMigratedIn(t, "Ours"), "pool_mode = transaction\n"), execMode(pgx.QueryExecModeExec))
		operated(t, bundle{pool: pool, store: requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute, Schema: "Ours"})}, "a")
	})
}

// requireMigratedIn returns the URL of a database with the tables in a schema.
func requireMigratedIn(t *testing.T, schema string) string {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	_, err := migrations.Up(t.Context(), url, migrations.Options{Schema: schema})
	require.NoError(t, err)
	return url
}
