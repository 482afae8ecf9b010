package command_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("goes up and down and tells where it is", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)

		got := run(t, database, "migrate", "status")
		require.Equal(t, command.ExitPending, got.code)
		require.Contains(t, got.out, `schema "public": version 0 of 1`)
		require.Regexp(t, `1 +create_idempotency_records +pending +-`, got.out)
		require.Empty(t, got.err)

		got = run(t, database, "migrate", "up")
		require.Equal(t, outcome{code: command.ExitOK, out: "schema \"public\": version 0 -> 1\n", err: got.err}, got)
		require.Contains(t, got.err, "migration=000001_create_idempotency_records")

		got = run(t, database, "migrate", "up")
		require.Equal(t, outcome{out: "schema \"public\": version 1, nothing to do\n"}, got)

		got = run(t, database, "migrate", "status")
		require.Equal(t, command.ExitOK, got.code)
		require.Regexp(t, `1 +create_idempotency_records +applied +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`, got.out)

		got = run(t, database, "migrate", "down")
		require.Equal(t, command.ExitUsage, got.code)
		require.Contains(t, got.err, "drops data: every record, of which 0 wait for an operator, and the audit trail; stop the workers")
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "status").code, "nothing was done")

		got = run(t, database, "migrate", "down", "--yes")
		require.Equal(t, "schema \"public\": version 1 -> 0\n", got.out)
		require.Equal(t, command.ExitPending, run(t, database, "migrate", "status").code)
	})

	t.Run("prefers the flag to the environment", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		got := run(t, "postgres://nowhere.invalid/x", "migrate", "up", "--database-url", database)
		require.Equal(t, command.ExitOK, got.code, got.err)
	})

	t.Run("keeps to the schema it is given", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		got := run(t, database, "migrate", "up", "--schema", "Ours")
		require.Equal(t, "schema \"Ours\": version 0 -> 1\n", got.out, got.err)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "status", "--schema", "Ours").code)
		require.Equal(t, command.ExitPending, run(t, database, "migrate", "status").code)
	})

	t.Run("finds a table that somebody has dropped, and says what makes it", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "up", "--schema", "Ours").code)
		psql(t, database, `DROP TABLE "Ours".idempotency_audit`)
		const want = "schema \"Ours\" lacks table idempotency_audit; run `dedupe migrate print --schema Ours | psql"
		for _, verb := range []string{"status", "up"} {
			got := run(t, database, "migrate", verb, "--schema", "Ours")
			require.Equal(t, command.ExitError, got.code, verb)
			require.Contains(t, got.err, want, verb)
		}
		psql(t, database, run(t, "", "migrate", "print", "--schema", "Ours").out)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "status", "--schema", "Ours").code)
	})

	t.Run("tells its status in JSON with the same exit codes", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		type status struct {
			Schema          string
			Version, Latest int
			Pending         []struct{ Version int }
		}
		requireStatus := func(code int) (s status) {
			t.Helper()
			got := run(t, database, "migrate", "status", "--output", "json")
			require.Equal(t, code, got.code, got.err)
			require.NoError(t, json.Unmarshal([]byte(got.out), &s))
			return s
		}
		require.Len(t, requireStatus(command.ExitPending).Pending, 1)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "up").code)
		require.Equal(t, status{Schema: "public", Version: 1, Latest: 1, Pending: []struct{ Version int }{}},
			requireStatus(command.ExitOK))
	})
}

func TestMigrateFailures(t *testing.T) {
	t.Parallel()

	t.Run("an unreachable database is an error without its password", func(t *testing.T) {
		t.Parallel()
		got := run(t, "postgres://me:s3cret@127.0.0.1:1/x", "migrate", "up")
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.err, "dedupe: migrations: connect: ")
		require.NotContains(t, got.err, "s3cret")
	})

	t.Run("a newer schema is shown, and an error", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "up").code)
		psql(t, database, `INSERT INTO idempotency_schema VALUES (9, clock_timestamp())`)

		got := run(t, database, "migrate", "status")
		require.Equal(t, command.ExitError, got.code)
		require.Regexp(t, `9 +\? +applied by a newer release`, got.out)
		require.Contains(t, got.err, "use a release that knows version 9")
		require.Equal(t, command.ExitError, run(t, database, "migrate", "up").code)
		require.Equal(t, command.ExitError, run(t, database, "migrate", "down", "--yes").code)
	})

	t.Run("an interrupted run is mentioned", func(t *testing.T) {
		t.Parallel()
		database := localpgtest.RequireDatabase(t)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "up").code)
		psql(t, database, `UPDATE idempotency_schema_migrations SET dirty = true`)
		require.Contains(t, run(t, database, "migrate", "status").out, "An earlier run was interrupted")
	})
}

func TestPrintIsUnderstoodByPsql(t *testing.T) {
	t.Parallel()
	database := localpgtest.RequireDatabase(t)
	for range 2 {
		got := run(t, "", "migrate", "print", "--schema", "printed")
		require.Equal(t, command.ExitOK, got.code)
		psql(t, database, got.out)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "status", "--schema", "printed").code)
	}
	psql(t, database, run(t, "", "migrate", "print", "down", "--schema", "printed").out)
	require.Equal(t, command.ExitPending, run(t, database, "migrate", "status", "--schema", "printed").code)
}

// psql runs a script as an operator would.
func psql(t *testing.T, database, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
