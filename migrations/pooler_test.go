package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestPooler(t *testing.T) {
	t.Parallel()

	for name, settings := range map[string]string{
		"with one session":                          "pool_mode = transaction\ndefault_pool_size = 1",
		"that hands out the session used last":      "pool_mode = transaction\ndefault_pool_size = 20",
		"that hands out two sessions in turn":       "pool_mode = transaction\ndefault_pool_size = 2\nserver_round_robin = 1",
		"that hands out the session unused longest": "pool_mode = transaction\ndefault_pool_size = 20\nserver_round_robin = 1",
		"that even splits transactions":             "pool_mode = statement",
	} {
		t.Run("in transaction mode is refused: one "+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			url := localpgtest.RequirePgBouncer(t, b.url, settings)
			for range 5 {
				_, err := migrations.Up(t.Context(), url, migrations.Options{})
				require.ErrorIs(t, err, migrations.ErrTransactionPooler)
				require.ErrorContains(t, err, "use the address of Postgres itself")
				_, err = migrations.Down(t.Context(), url, migrations.Options{})
				require.ErrorIs(t, err, migrations.ErrTransactionPooler)
			}
			require.Equal(t, 0, requireValue[int](t, b, `
				SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`))
			b.requireTables(t, "public")

			_, err := migrations.Up(t.Context(), b.url, migrations.Options{})
			require.NoError(t, err)
			require.NoError(t, migrations.Check(t.Context(), url, migrations.Options{}), "reading works through any pooler")
		})
	}

	t.Run("in session mode is accepted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		url := localpgtest.RequirePgBouncer(t, b.url, "pool_mode = session")
		for range 3 {
			_, err := migrations.Up(t.Context(), url, migrations.Options{Schema: "pooled"})
			require.NoError(t, err)
			_, err = migrations.Down(t.Context(), url, migrations.Options{Schema: "pooled"})
			require.NoError(t, err)
		}
	})
}
