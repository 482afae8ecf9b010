package migrations_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// testBundle is a database of the test's own.
type testBundle struct {
	url  string
	conn *pgx.Conn
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	return &testBundle{url: url, conn: requireConn(t, url)}
}

func requireConn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

func (b *testBundle) requireExec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := b.conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// requireValue returns the one value that a query yields.
func requireValue[T any](t *testing.T, b *testBundle, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, b.conn.QueryRow(t.Context(), sql, args...).Scan(&value))
	return value
}

// requireTables compares the tables of a schema.
func (b *testBundle) requireTables(t *testing.T, schema string, want ...string) {
	t.Helper()
	got := requireValue[[]string](t, b, `
		SELECT coalesce(array_agg(relname::text ORDER BY relname), '{}') FROM pg_class
		WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'`, pgx.Identifier{schema}.Sanitize())
	require.Equal(t, append([]string{}, want...), got)
}

// requireNoLocks looks for advisory locks of other sessions than the test's.
func (b *testBundle) requireNoLocks(t *testing.T) {
	t.Helper()
	require.Equal(t, 0, requireValue[int](t, b, `
		SELECT count(*) FROM pg_locks
		WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`))
}

// requireNoSessions waits until the server has noticed that all sessions of
// migrations were closed.
func (b *testBundle) requireNoSessions(t *testing.T) {
	t.Helper()
	b.requireSoon(t, `SELECT count(*) = 0 FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'dedupe-migrate'`)
}

// requireSoon repeats a query until it says true.
func (b *testBundle) requireSoon(t *testing.T, sql string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var yes bool
		err := b.conn.QueryRow(t.Context(), sql).Scan(&yes)
		return err == nil && yes
	}, 20*time.Second, 10*time.Millisecond, sql)
}

// psql runs the psql binary as an operator would.
func (b *testBundle) psql(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), requirePsql(t),
		append([]string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", b.url}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *testBundle) requirePsqlFile(t *testing.T, name string) {
	t.Helper()
	out, err := b.psql(t, "", "-f", name)
	require.NoError(t, err, out)
}

const (
	upFile   = "000001_create_idempotency_records.up.sql"
	downFile = "000001_create_idempotency_records.down.sql"
)

var ourTables = []string{
	"idempotency_audit", "idempotency_maintenance", "idempotency_records", "idempotency_schema", "idempotency_server",
}

func withBookkeeping() []string {
	return append(ourTables[:4:4], "idempotency_schema_migrations", ourTables[4])
}

// steps returns a set of the real migration and of small ones after it.
func steps(t *testing.T, more ...string) migrations.Set {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{upFile, downFile} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: text}
	}
	for i, up := range more {
		n := i + 2
		files[fmt.Sprintf("%06d_step.up.sql", n)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"BEGIN;\n%s;\nINSERT INTO idempotency_schema VALUES (%d, clock_timestamp());\nCOMMIT;", up, n)}
		files[fmt.Sprintf("%06d_step.down.sql", n)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"BEGIN;\nDELETE FROM idempotency_schema WHERE version = %d;\nCOMMIT;", n)}
	}
	return migrations.NewSet(files)
}

// requireRole creates a login without any right and returns the database's URL
// for it.
func (b *testBundle) requireRole(t *testing.T) string {
	t.Helper()
	role := "reader_" + strings.ToLower(rand.Text())
	b.requireExec(t, `CREATE ROLE `+role+` LOGIN PASSWORD 's3cret'`)
	t.Cleanup(func() {
		// The database may still grant something to it; it goes with the cluster.
		_, _ = b.conn.Exec(context.Background(), `DROP ROLE `+role)
	})
	u, err := url.Parse(b.url)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "s3cret")
	return u.String()
}
