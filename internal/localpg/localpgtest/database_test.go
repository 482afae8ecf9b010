package localpgtest_test

import (
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func requireDatabases(t *testing.T, serverURL string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), serverURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	rows, err := conn.Query(t.Context(), "SELECT datname FROM pg_database WHERE datname LIKE 'dedupe_%'")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

func TestRequireDatabase(t *testing.T) {
	t.Parallel()

	t.Run("each call gives another database of one cluster", func(t *testing.T) {
		t.Parallel()
		a, err := url.Parse(localpgtest.RequireDatabase(t))
		require.NoError(t, err)
		b, err := url.Parse(localpgtest.RequireDatabase(t))
		require.NoError(t, err)
		require.NotEqual(t, a.Path, b.Path)
		if os.Getenv(localpgtest.DatabaseURLVar) == "" {
			require.Equal(t, a.Host, b.Host)
		}
	})
}

// Not parallel: it sets environment variables.
func TestRequireDatabaseOnAGivenServer(t *testing.T) {
	server := localpgtest.RequireCluster(t, localpg.Options{})
	t.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/precious")
	t.Setenv(localpgtest.DatabaseURLVar, server.URL())

	var name string
	t.Run("the database is created there", func(t *testing.T) {
		u, err := url.Parse(localpgtest.RequireDatabase(t))
		require.NoError(t, err)
		name = u.Path[1:]
		require.Contains(t, requireDatabases(t, server.URL()), name)

		_, err = pgx.Connect(t.Context(), u.String()) // stays open: dropping must end it
		require.NoError(t, err)
	})
	t.Run("the database is dropped after the test, sessions or not", func(t *testing.T) {
		require.NotContains(t, requireDatabases(t, server.URL()), name)
	})
}

func BenchmarkRequireDatabase(b *testing.B) {
	localpgtest.RequireDatabase(b)
	for b.Loop() {
		localpgtest.RequireDatabase(b)
	}
}
