package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// With no record there is no owner to protect; with one, whoever wants to overtake its
// owner must note the time, and not who runs the files again after a crash.
func TestWhoMakesTheTablesNotesTheServersStart(t *testing.T) {
	t.Parallel()
	b := setupMigrated(t)
	noted := func() string {
		return requireValue[string](t, b, `SELECT coalesce(string_agg((up_since = pg_postmaster_start_time())::text, ' '), 'none') FROM idempotency_server`)
	}
	require.Equal(t, "true", noted())
	b.requirePsqlFile(t, upFile)
	require.Equal(t, "true", noted())
	b.requireRecords(t, "k")
	b.requireExec(t, `TRUNCATE idempotency_server`) // as a crash does
	b.requirePsqlFile(t, upFile)
	require.Equal(t, "none", noted())
}
