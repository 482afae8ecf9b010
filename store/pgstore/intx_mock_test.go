package pgstore_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pashagolub/pgxmock/v4"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// mockTx is a pool that answers by a script, and an execution on it.
type mockTx struct {
	mock
	r store.Reservation
	e *fakeExecution
}

func newMockTx(t *testing.T) mockTx {
	t.Helper()
	m := newMock(t)
	r := reservation("order-42")
	return mockTx{m, r, ownerOf(m.store(pgstore.Options{CallTimeout: 2 * time.Second}), r)}
}

// locks expects the record to be locked, as it then stands.
func (m mockTx) locks(token store.Token, status store.Status, result []byte) {
	r := m.r
	r.Token = token
	m.expectLock("idle_in_transaction_session_timeout").WillReturnRows(m.record(r, status, result))
}

func (m mockTx) expectLock(setting string) *pgxmock.ExpectedQuery {
	return m.ExpectQuery("FOR UPDATE OF r").WithArgs([]string{m.r.Key}, setting, pgxmock.AnyArg())
}

// record is a row of lockSQL.
func (m mockTx) record(r store.Reservation, status store.Status, result []byte) *pgxmock.Rows {
	columns := make([]string, 31)
	for i := range columns {
		columns[i] = "c"
	}
	return pgxmock.NewRows(columns).AddRow(recordRow(false, r, status, time.Minute, result)[3:]...)
}

func (m mockTx) begins() {
	m.ExpectBeginTx(pgx.TxOptions{})
	m.locks(m.r.Token, store.StatusInProgress, nil)
	m.ExpectExec("SAVEPOINT dedupe_in_tx; SAVEPOINT").WillReturnResult(pgxmock.NewResult("SAVEPOINT", 0))
}

// ends expects the look at the transaction after the function.
func (m mockTx) ends() {
	m.ExpectExec("RELEASE SAVEPOINT").WillReturnResult(pgxmock.NewResult("SET CONSTRAINTS", 0))
}

// undoes expects the way back.
func (m mockTx) undoes() {
	m.ExpectExec("ROLLBACK TO SAVEPOINT dedupe_in_tx").WillReturnResult(pgxmock.NewResult("ROLLBACK", 0))
	m.expect("renew").WillReturnRows(answers("renewed"))
	m.ExpectCommit()
}

func (m mockTx) run(fn func(pgx.Tx) (string, error)) (string, error) {
	return pgstore.InTx(m.e.context(m), m.PgxPoolIface, fn)
}

func paid(pgx.Tx) (string, error) { return "paid", nil }

func TestMockedInTx(t *testing.T) {
	t.Parallel()
	broken := &pgconn.PgError{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01"}
	refused := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "23505"}
	conflict := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "40001"}
	result := []byte(`"paid"`)

	for name, c := range map[string]struct {
		script func(m mockTx)
		fn     func(pgx.Tx) (string, error)
		want   error // nil: the result
		notes  []string
	}{
		"a commit": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit()
			},
			paid, nil, []string{"committing", "committed"},
		},
		"a pool that gives no connection": {
			func(m mockTx) { m.ExpectBeginTx(pgx.TxOptions{}).WillReturnError(io.EOF) },
			never, errUnavailable, []string{"rolled back"},
		},
		"a savepoint that fails": {
			func(m mockTx) {
				m.ExpectBeginTx(pgx.TxOptions{})
				m.locks(m.r.Token, store.StatusInProgress, nil)
				m.ExpectExec("SAVEPOINT").WillReturnError(broken)
				m.ExpectRollback()
			}, never, errUnavailable, []string{"rolled back"},
		},
		"a record of another owner's": {
			func(m mockTx) {
				m.ExpectBeginTx(pgx.TxOptions{})
				m.locks(store.NewToken(), store.StatusInProgress, nil)
				m.ExpectExec("SAVEPOINT").WillReturnResult(pgxmock.NewResult("SAVEPOINT", 0))
				m.ExpectRollback()
			}, never, errLost, []string{"rolled back"},
		},
		"a record that is completed": {
			func(m mockTx) {
				m.ExpectBeginTx(pgx.TxOptions{})
				m.locks(store.NewToken(), store.StatusCompleted, result)
				m.ExpectExec("SAVEPOINT").WillReturnResult(pgxmock.NewResult("SAVEPOINT", 0))
				m.ExpectRollback()
			}, never, nil, []string{"rolled back"},
		},
		"an error of the function, and a way back that fails": {
			func(m mockTx) {
				m.begins()
				m.ExpectExec("ROLLBACK TO SAVEPOINT").WillReturnError(broken)
				m.ExpectRollback()
				m.expect("renew").WillReturnRows(answers("renewed"))
			}, func(pgx.Tx) (string, error) { return "", errDeclined }, errDeclined, []string{"rolled back"},
		},
		"a deadlock in the function": {
			func(m mockTx) { m.begins(); m.undoes() },
			func(pgx.Tx) (string, error) { return "", errors.Join(&pgconn.PgError{Code: "40P01"}) },
			errSerialization, []string{"rolled back"},
		},
		"a deferred constraint": {
			func(m mockTx) { m.begins(); m.ExpectExec("RELEASE SAVEPOINT").WillReturnError(refused); m.undoes() },
			paid, refused, []string{"rolled back"},
		},
		"a connection that is gone when the function returns": {
			func(m mockTx) {
				m.begins()
				m.ExpectExec("RELEASE SAVEPOINT").WillReturnError(io.EOF)
				m.ExpectExec("ROLLBACK TO SAVEPOINT").WillReturnError(io.EOF)
				m.ExpectRollback()
				m.expect("renew").WillReturnRows(answers("renewed"))
			}, paid, errUnavailable, []string{"rolled back"},
		},
		"a settlement that fails": {
			func(m mockTx) { m.begins(); m.ends(); m.expect("settle").WillReturnError(refused); m.undoes() },
			paid, errUnavailable, []string{"rolled back"},
		},
		"a settlement that loses": {
			func(m mockTx) { m.begins(); m.ends(); m.expect("settle").WillReturnError(conflict); m.undoes() },
			paid, errSerialization, []string{"rolled back"},
		},
		"a settlement that finds another owner in spite of the lock": {
			func(m mockTx) { m.begins(); m.ends(); m.expect("settle").WillReturnRows(answers("stale")); m.undoes() },
			paid, errLost, []string{"rolled back"},
		},
		"a commit that is refused": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(refused)
				m.expect("renew").WillReturnRows(answers("renewed"))
			}, paid, refused, []string{"committing", "rolled back"},
		},
		"a commit that loses": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(conflict)
				m.expect("renew").WillReturnRows(answers("renewed"))
			}, paid, errSerialization, []string{"committing", "rolled back"},
		},
		"a commit without an answer that was carried out": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(broken)
				m.expectLock("lock_timeout").WillReturnError(&pgconn.PgError{Code: "55P03"})
				m.expectLock("lock_timeout").WillReturnRows(m.record(m.r, store.StatusCompleted, result))
			}, paid, nil, []string{"committing", "committed"},
		},
		"a commit without an answer that was not": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(io.EOF)
				m.expectLock("lock_timeout").WillReturnRows(m.record(m.r, store.StatusInProgress, nil))
				m.expect("renew").WillReturnRows(answers("renewed"))
			}, paid, errUnavailable, []string{"committing", "rolled back"},
		},
		"a commit without an answer, and a record that somebody has completed": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(io.EOF)
				m.expectLock("lock_timeout").WillReturnRows(m.record(again(m.r), store.StatusCompleted, result))
			}, paid, nil, []string{"committing", "rolled back"},
		},
		"a commit without an answer, and no record": {
			func(m mockTx) {
				m.begins()
				m.ends()
				m.expect("settle").WillReturnRows(answers("applied"))
				m.ExpectCommit().WillReturnError(io.EOF)
				m.expectLock("lock_timeout").WillReturnError(io.EOF)
				m.expectLock("lock_timeout").WillReturnError(io.EOF)
			}, paid, errDoubtful, []string{"committing", "doubtful"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMockTx(t)
			c.script(m)
			got, err := m.run(c.fn)
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, "paid", got)
			} else {
				require.ErrorIs(t, err, c.want)
				require.Empty(t, got)
			}
			require.Equal(t, c.notes, m.e.notes)
		})
	}

	t.Run("a commit without an answer is not taken for another's that was", func(t *testing.T) {
		t.Parallel()
		m := newMockTx(t)
		m.begins()
		m.ends()
		m.expect("settle").WillReturnRows(answers("applied"))
		m.ExpectCommit().WillReturnError(io.EOF)
		m.expectLock("lock_timeout").WillReturnRows(m.record(m.r, store.StatusCompleted, []byte(`"from outside"`)))
		got, err := m.run(paid)
		require.NoError(t, err)
		require.Equal(t, "from outside", got)
		require.Equal(t, []string{"committing", "rolled back"}, m.e.notes)
	})

	t.Run("a result that is not final leaves no trace to find a lost commit by", func(t *testing.T) {
		t.Parallel()
		m := newMockTx(t)
		m.e.unfinal = true
		m.begins()
		m.ends()
		m.ExpectCommit().WillReturnError(io.EOF)
		_, err := m.run(paid)
		require.ErrorIs(t, err, errDoubtful)
		require.NotContains(t, err.Error(), "its record", "which would not tell")
	})

	t.Run("a lock that fails against others is tried until the activity's time is over", func(t *testing.T) {
		t.Parallel()
		m := newMockTx(t)
		for range 2 {
			m.ExpectBeginTx(pgx.TxOptions{})
			m.expectLock("idle_in_transaction_session_timeout").WillReturnError(conflict)
			m.ExpectRollback()
		}
		m.ExpectBeginTx(pgx.TxOptions{}).WillDelayFor(time.Minute)
		ctx, cancel := context.WithTimeout(m.e.context(m), time.Second)
		defer cancel()
		_, err := pgstore.InTx(ctx, m.PgxPoolIface, never)
		require.ErrorIs(t, err, errSerialization)
		require.Equal(t, []string{"rolled back"}, m.e.notes)
	})

	t.Run("a cancelled activity waits for no lock", func(t *testing.T) {
		t.Parallel()
		m := newMockTx(t)
		m.ExpectBeginTx(pgx.TxOptions{}).WillReturnError(context.Canceled)
		ctx, cancel := context.WithCancel(m.e.context(t))
		cancel()
		_, err := pgstore.InTx(ctx, m.PgxPoolIface, never)
		require.ErrorIs(t, err, context.Canceled)
	})
}
