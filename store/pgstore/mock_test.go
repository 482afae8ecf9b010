package pgstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pashagolub/pgxmock/v4"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// mock is a pool that answers by a script, and a store on it.
type mock struct {
	pgxmock.PgxPoolIface
	*testing.T
}

// What tells the statements apart, and how many arguments they have.
var scripts = map[string]int{
	"reserve": 20, "acquire": 22, "renew": 3, "complete": 5, "settle": 12, "settle alone": 13, "get": 1, "evict": 4, "session": 0, "schema": 3,
}

var marks = map[string]string{
	"reserve":      "ON CONFLICT (key) DO NOTHING",
	"acquire":      "acquisitions = r.acquisitions + 1",
	"renew":        "'renewed'",
	"complete":     "WHERE r.ctid = i.place",
	"settle":       "FOR UPDATE SKIP LOCKED OFFSET 0) r\n), decided",
	"settle alone": "FOR UPDATE OFFSET 0) r\n), decided",
	"get":          "OFFSET 0) r\nWHERE (SELECT count(*) > 0",
	"evict":        "LIMIT $2::bigint\n        FOR UPDATE SKIP LOCKED",
	"session":      "pg_is_in_recovery()",
	"schema":       "max(v.version)",
}

func newMock(t *testing.T) mock {
	t.Helper()
	pool, err := pgxmock.NewPool(pgxmock.QueryMatcherOption(pgxmock.QueryMatcherFunc(func(mark, sql string) error {
		if !strings.Contains(sql, mark) {
			return fmt.Errorf("expected a statement with %q, got %s", mark, sql)
		}
		return nil
	})))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return mock{pool, t}
}

// expect expects one of the store's statements.
func (m mock) expect(name string) *pgxmock.ExpectedQuery {
	args := make([]any, scripts[name])
	for i := range args {
		args[i] = pgxmock.AnyArg()
	}
	return m.ExpectQuery(marks[name]).WithArgs(args...)
}

// store makes a store on the pool, whose check succeeds.
func (m mock) store(options pgstore.Options) *pgstore.Store {
	m.Helper()
	m.expect("session").WillReturnRows(sessionRow(false, false))
	m.expect("schema").WillReturnRows(pgxmock.NewRows([]string{"version", "lacks", "table", "hidden"}).AddRow(1, nil, true, nil))
	s, err := pgstore.New(m.Context(), m.PgxPoolIface, options)
	require.NoError(m, err)
	m.Cleanup(func() { require.NoError(m, m.ExpectationsWereMet()) })
	return s
}

// sessionRow is the answer about a session, whose settings are the server's defaults.
func sessionRow(standby, readOnly bool) *pgxmock.Rows {
	return pgxmock.NewRows([]string{"standby", "read_only", "bytea", "dates", "nulls", "strings", "client", "server"}).
		AddRow(standby, readOnly, "hex", "ISO, MDY", "on", "on", "UTF8", "UTF8")
}

// recordRows are the answer of a reservation.
func recordRows() *pgxmock.Rows {
	columns := make([]string, 34)
	for i := range columns {
		columns[i] = fmt.Sprint("c", i)
	}
	return pgxmock.NewRows(columns)
}

// recordRow is one row of it.
func recordRow(inserted bool, r store.Reservation, status store.Status, leaseLeft time.Duration, result []byte) []any {
	now := time.Now()
	lead := []any{1, 0, []string(nil)} // the number of the key, how many were inserted, which
	if inserted {
		lead = []any{0, 1, []string(nil)}
	}
	return append(lead,
		r.Key, 1, string(status), r.Hashes[0], r.Token.String(), string(r.Policy),
		status == store.StatusInProgress, false, false, false, 0, 1, leaseLeft.Microseconds(),
		result, int64(len(result)), "", []byte(nil), now, now, now.Add(r.Retention),
		r.Lineage, r.Invocation, "", "", "", "", r.ActivityType, (*time.Time)(nil), 1, "", "",
	)
}

func answers(rows ...any) *pgxmock.Rows {
	out := pgxmock.NewRows([]string{"ords", "answer"})
	for i, answer := range rows {
		out.AddRow([]int{i + 1}, answer)
	}
	return out
}

func TestMockedCallsAreAnsweredByTheRecord(t *testing.T) {
	t.Parallel()
	r := reservation("order-42")
	claim := func(t *testing.T, row []any, r store.Reservation) store.Claimed {
		t.Helper()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("reserve").WillReturnRows(recordRows().AddRow(row...))
		c, err := store.Claim(t.Context(), s, r)
		require.NoError(t, err)
		return c
	}

	t.Run("the first reservation is acquired", func(t *testing.T) {
		t.Parallel()
		c := claim(t, recordRow(true, r, store.StatusInProgress, time.Minute, nil), r)
		require.Equal(t, store.ActAcquire, c.Action)
		require.Equal(t, leaseOf(r), c.Lease)
	})
	t.Run("the same key and hash again is in progress", func(t *testing.T) {
		t.Parallel()
		c := claim(t, recordRow(false, r, store.StatusInProgress, time.Minute, nil), again(r))
		require.Equal(t, store.ActWait, c.Action)
		require.Equal(t, time.Minute, c.Found.LeaseLeft)
	})
	t.Run("a completed key is replayed with the same bytes", func(t *testing.T) {
		t.Parallel()
		c := claim(t, recordRow(false, r, store.StatusCompleted, 0, []byte("a\x00\xff")), again(r))
		require.Equal(t, store.ActReplay, c.Action)
		require.Equal(t, []byte("a\x00\xff"), c.Found.Result)
	})
	t.Run("another hash is refused", func(t *testing.T) {
		t.Parallel()
		other := again(r)
		other.Hashes, other.Invocation = []string{"v1:s1:bbbb"}, "run-1/6/1"
		c := claim(t, recordRow(false, r, store.StatusCompleted, 0, []byte("paid")), other)
		require.Equal(t, store.ActConflict, c.Action)
	})

	t.Run("one of ten parallel reservations is acquired", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		for i := range 10 {
			m.expect("reserve").WillReturnRows(recordRows().AddRow(recordRow(i == 3, r, store.StatusInProgress, time.Minute, nil)...))
		}
		require.Equal(t, map[store.Action]int{store.ActAcquire: 1, store.ActWait: 9}, claimAtOnce(t, s, "order-42", 10))
	})

	t.Run("a key that came into being meanwhile is looked for again", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("reserve").WillReturnRows(recordRows())
		m.expect("reserve").WillReturnRows(recordRows().AddRow(recordRow(false, r, store.StatusInProgress, time.Minute, nil)...))
		found, err := s.Reserve(t.Context(), []store.Reservation{again(r)})
		require.NoError(t, err)
		require.True(t, found[0].Exists)
	})
	t.Run("a retry is looked for first, and inserted where it is not found", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		completed := recordRow(false, r, store.StatusCompleted, 0, []byte("paid"))
		m.expect("get").WillReturnRows(pgxmock.NewRows(make([]string, 32)).AddRow(append([]any{1}, completed[3:]...)...))
		found, err := s.Reserve(t.Context(), []store.Reservation{retryOf(r)})
		require.NoError(t, err)
		require.True(t, found[0].Exists)
		require.Equal(t, "paid", string(found[0].Record.Result))

		m.expect("get").WillReturnRows(pgxmock.NewRows(make([]string, 32)))
		m.expect("reserve").WillReturnRows(recordRows().AddRow(recordRow(true, r, store.StatusInProgress, time.Minute, nil)...))
		found, err = s.Reserve(t.Context(), []store.Reservation{retryOf(r)})
		require.NoError(t, err)
		require.Equal(t, []store.Found{{Inserted: true}}, found)
	})
	t.Run("a retry that cannot be looked for is not inserted", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("get").WillReturnError(&pgconn.PgError{Code: "42501"})
		_, err := s.Reserve(t.Context(), []store.Reservation{retryOf(r)})
		require.ErrorIs(t, err, store.ErrUnavailable)
	})
	t.Run("a key that never appears is answered with nothing, after some tries", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		for range 3 {
			m.expect("reserve").WillReturnRows(recordRows())
		}
		found, err := s.Reserve(t.Context(), []store.Reservation{r})
		require.NoError(t, err)
		require.Equal(t, []store.Found{{}}, found)
	})
}

func TestMockedAnswers(t *testing.T) {
	t.Parallel()
	a, b, c := reservation("a"), reservation("b"), reservation("c")

	t.Run("of renewals stand in the order of the leases", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("renew").WillReturnRows(pgxmock.NewRows([]string{"ords", "answer"}).AddRow([]int{2}, "lost").AddRow([]int{1}, "locked"))
		got, err := s.Renew(t.Context(), []store.Lease{leaseOf(a), leaseOf(b)})
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseLocked, store.LeaseLost}, got)
	})
	t.Run("of a settlement whose record is locked come from a statement of its own", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("complete").WillReturnRows(pgxmock.NewRows([]string{"ord"}).AddRow(2))
		m.expect("settle").WillReturnRows(answers("locked", "stale"))
		m.expect("settle alone").WillReturnRows(answers("locked"))
		m.expect("settle alone").WillReturnError(&pgconn.PgError{Code: "55P03"})
		m.expect("settle alone").WillReturnRows(answers("applied"))
		require.Equal(t, []store.Settled{store.SettledApplied, store.SettledApplied, store.SettledStale},
			settle(t, s, complete(a, "1"), complete(b, "2"), complete(c, "3")))
	})
	t.Run("of a completion that are for nobody are an error", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{})
		m.expect("complete").WillReturnRows(pgxmock.NewRows([]string{"ord"}).AddRow(2))
		_, err := s.Settle(t.Context(), []store.Settlement{complete(a, "1")})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "could not be read")
	})
	for name, rows := range map[string]*pgxmock.Rows{
		"are missing":       pgxmock.NewRows([]string{"ords", "answer"}),
		"are not known":     answers("maybe"),
		"are for nobody":    pgxmock.NewRows([]string{"ords", "answer"}).AddRow([]int{7}, "lost"),
		"have another type": pgxmock.NewRows([]string{"ords", "answer"}).AddRow("x", "lost"),
	} {
		t.Run("that "+name+" are an error", func(t *testing.T) {
			t.Parallel()
			m := newMock(t)
			s := m.store(pgstore.Options{})
			m.expect("renew").WillReturnRows(rows)
			_, err := s.Renew(t.Context(), []store.Lease{leaseOf(a)})
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "could not be read")
		})
	}
	t.Run("from a standby are refused", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		m.expect("session").WillReturnRows(sessionRow(true, true))
		_, err := pgstore.New(t.Context(), m.PgxPoolIface, pgstore.Options{})
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.ErrorContains(t, err, "target_session_attrs=read-write")
	})
}
