package pgstore_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pashagolub/pgxmock/v4"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestPassingFailuresAreRetriedWithinTheCall(t *testing.T) {
	t.Parallel()
	r := reservation("a")
	for name, passing := range map[string]error{
		"serialization failure":     &pgconn.PgError{Code: "40001"},
		"deadlock":                  &pgconn.PgError{Code: "40P01"},
		"statement timeout":         &pgconn.PgError{Code: "57014"},
		"lock timeout":              &pgconn.PgError{Code: "55P03"},
		"shutdown":                  &pgconn.PgError{Code: "57P01"},
		"crash":                     &pgconn.PgError{Code: "57P02"},
		"start":                     &pgconn.PgError{Code: "57P03"},
		"broken connection":         &pgconn.PgError{Code: "08006"},
		"too many connections":      &pgconn.PgError{Code: "53300"},
		"end of file":               io.ErrUnexpectedEOF,
		"a connection that is lost": io.EOF,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMock(t)
			s := m.store(pgstore.Options{CallTimeout: time.Minute})
			m.expect("renew").WillReturnError(passing)
			m.expect("renew").WillReturnError(passing)
			m.expect("renew").WillReturnRows(answers("renewed"))
			got, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseRenewed}, got)
		})
	}

	t.Run("also when they come while rows are read", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{CallTimeout: time.Minute})
		m.expect("renew").WillReturnRows(answers("renewed", "renewed").RowError(1, &pgconn.PgError{Code: "57P01"}))
		m.expect("renew").WillReturnRows(answers("renewed"))
		_, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
		require.NoError(t, err)
	})
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	r := reservation("a")
	deadlock := &pgconn.PgError{Code: "40P01", Message: "secret", Detail: "secret", Where: "secret"}

	t.Run("with the call's time", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{CallTimeout: 500 * time.Millisecond})
		for range 3 { // 10, 20 and 40 ms, and then more than there is
			m.expect("renew").WillReturnError(deadlock)
		}
		m.expect("renew").WillReturnRows(answers("renewed")).WillDelayFor(time.Minute)
		_, err := s.Renew(t.Context(), []store.Lease{leaseOf(r)})
		require.EqualError(t, err, "dedupe: store is unavailable: renew: deadlock (SQLSTATE 40P01)",
			"which says more than that the time was over")
		var answer *pgconn.PgError
		require.ErrorAs(t, err, &answer)
		require.Same(t, deadlock, answer)
		require.Equal(t, store.ErrUnavailable, errors.Unwrap(err), "the database's text is not in the chain")
	})

	t.Run("with the caller's context, whose error it is then", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{CallTimeout: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		m.expect("renew").WillReturnRows(answers("renewed")).WillDelayFor(time.Minute)
		_, err := s.Renew(ctx, []store.Lease{leaseOf(r)})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, store.ErrUnavailable)
	})
}

func TestFailuresThatStayAreNotRetried(t *testing.T) {
	t.Parallel()
	r := reservation("order-42")
	for name, c := range map[string]struct {
		err  error
		kind error
		text string
	}{
		"a check violation": {
			&pgconn.PgError{Code: "23514", ConstraintName: "idempotency_records_lease", Detail: "secret"},
			store.ErrInvalidArgument, `key "order-42": the database refused a value, constraint idempotency_records_lease`,
		},
		"a value out of range":    {&pgconn.PgError{Code: "22003"}, store.ErrInvalidArgument, "order-42"},
		"a missing table":         {&pgconn.PgError{Code: "42P01"}, store.ErrSchema, "dedupe migrate up"},
		"a missing column":        {&pgconn.PgError{Code: "42703"}, store.ErrSchema, "dedupe migrate up"},
		"a missing privilege":     {&pgconn.PgError{Code: "42501"}, store.ErrUnavailable, "privilege"},
		"a read-only session":     {&pgconn.PgError{Code: "25006"}, store.ErrUnavailable, "connect to the primary"},
		"a lost statement":        {&pgconn.PgError{Code: "26000"}, store.ErrUnavailable, "default_query_exec_mode"},
		"a refused login":         {&pgconn.PgError{Code: "28P01"}, store.ErrUnavailable, "login"},
		"another answer":          {&pgconn.PgError{Code: "XX000", Message: "secret"}, store.ErrUnavailable, "XX000"},
		"an error of the driver":  {errors.New("cannot encode secret"), store.ErrUnavailable, "the driver failed"},
		"a text with a password":  {errors.New("postgres://u:secret@h/db"), store.ErrUnavailable, "the driver failed"},
		"an invalid UTF-8 string": {&pgconn.PgError{Code: "22021", Message: "secret"}, store.ErrInvalidArgument, "22021"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMock(t)
			s := m.store(pgstore.Options{CallTimeout: time.Minute})
			m.expect("reserve").WillReturnError(c.err)
			_, err := s.Reserve(t.Context(), []store.Reservation{r})
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestOneBadRowDoesNotFailItsNeighbours(t *testing.T) {
	t.Parallel()
	rs := []store.Reservation{reservation("a"), reservation("b"), reservation("c")}
	leases := []store.Lease{leaseOf(rs[0]), leaseOf(rs[1]), leaseOf(rs[2])}

	for name, code := range map[string]string{
		"deadlock": "40P01", "cancellation": "57014", "lock timeout": "55P03", "cardinality": "21000", "a bad value": "22003",
	} {
		t.Run("after a "+name+" each row is tried by itself", func(t *testing.T) {
			t.Parallel()
			m := newMock(t)
			s := m.store(pgstore.Options{CallTimeout: time.Minute})
			m.expect("renew").WillReturnError(&pgconn.PgError{Code: code})
			m.expect("renew").WillReturnRows(answers("renewed"))
			m.expect("renew").WillReturnRows(answers("lost"))
			m.expect("renew").WillReturnRows(answers("locked"))
			got, err := s.Renew(t.Context(), leases)
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseRenewed, store.LeaseLost, store.LeaseLocked}, got)
		})
	}

	t.Run("the row that fails again is retried after the others", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{CallTimeout: time.Minute})
		m.expect("renew").WillReturnError(&pgconn.PgError{Code: "57014"})
		m.expect("renew").WillReturnError(&pgconn.PgError{Code: "57014"})
		m.expect("renew").WillReturnRows(answers("lost"))
		m.expect("renew").WillReturnRows(answers("locked"))
		m.expect("renew").WillReturnRows(answers("renewed"))
		got, err := s.Renew(t.Context(), leases)
		require.NoError(t, err)
		require.Equal(t, []store.Renewal{store.LeaseRenewed, store.LeaseLost, store.LeaseLocked}, got)
	})

	t.Run("a lost connection fails nobody's row, and the batch is repeated", func(t *testing.T) {
		t.Parallel()
		m := newMock(t)
		s := m.store(pgstore.Options{CallTimeout: time.Minute})
		m.expect("renew").WillReturnError(io.EOF)
		m.expect("renew").WillReturnRows(answers("renewed", "renewed", "renewed"))
		_, err := s.Renew(t.Context(), leases)
		require.NoError(t, err)
	})
}

func TestEvictionIsRetriedToo(t *testing.T) {
	t.Parallel()
	m := newMock(t)
	s := m.store(pgstore.Options{CallTimeout: time.Minute})
	m.expect("evict").WillReturnError(&pgconn.PgError{Code: "40P01"})
	m.expect("evict").WillReturnRows(pgxmock.NewRows([]string{"removed", "up_to"}).AddRow(7, int64(1_700_000_000_000_000)))
	n, err := s.Evict(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, 7, n)
}
