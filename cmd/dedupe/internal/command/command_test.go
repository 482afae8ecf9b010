package command_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devservertest.StopAfter(localpgtest.StopAfter(m))) }

// outcome is what a run of the command line leaves behind.
type outcome struct {
	code     int
	out, err string
}

// run runs the command line with DATABASE_URL set to databaseURL.
func run(t *testing.T, databaseURL string, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := command.Run(t.Context(), args, command.Env{
		In: strings.NewReader(""), Out: &out, Err: &err,
		Getenv: func(name string) string { return map[string]string{"DATABASE_URL": databaseURL}[name] },
	})
	return outcome{code: code, out: out.String(), err: err.String()}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":             {[]string{"migrat"}, `dedupe: unknown command "migrat" for "dedupe"`},
		"an unknown command in a group":  {[]string{"migrate", "sideways"}, `dedupe: unknown command "sideways" for "dedupe migrate"`},
		"an unknown flag":                {[]string{"migrate", "up", "--fast"}, "dedupe: unknown flag: --fast"},
		"an argument too many":           {[]string{"migrate", "up", "now"}, `dedupe: "dedupe migrate up" takes no arguments, but was given "now"`},
		"no steps":                       {[]string{"migrate", "up", "--steps", "0"}, "dedupe: --steps must be 1 or more, not 0"},
		"steps back to nowhere":          {[]string{"migrate", "down", "--steps", "-1"}, "dedupe: --steps must be 1 or more, not -1"},
		"down without consent":           {[]string{"migrate", "down"}, "dedupe: migrate down drops data: every record and the audit trail; stop the workers"},
		"an output format that is none":  {[]string{"migrate", "status", "-o", "xml"}, `dedupe: --output must be table or json, not "xml"`},
		"a direction that is none":       {[]string{"migrate", "print", "left"}, `dedupe: the direction must be up or down, not "left"`},
		"two directions":                 {[]string{"migrate", "print", "up", "down"}, `but was given "down" as well`},
		"a schema of Postgres's own":     {[]string{"migrate", "up", "--schema", "pg_catalog"}, "dedupe: --schema pg_catalog: names that begin with pg_ are reserved by Postgres"},
		"a schema to print":              {[]string{"migrate", "print", "--schema", "pg_temp"}, "dedupe: --schema pg_temp: "},
		"a name that is too long":        {[]string{"stats", "--schema", strings.Repeat("x", 64)}, "dedupe: --schema is 64 bytes long, Postgres keeps 63"},
		"no database, for up":            {[]string{"migrate", "up"}, "dedupe: no database: give --database-url, or set DATABASE_URL"},
		"no database, for status":        {[]string{"migrate", "status"}, "dedupe: no database: give --database-url, or set DATABASE_URL"},
		"no database, for down with yes": {[]string{"migrate", "down", "--yes"}, "dedupe: no database: give --database-url, or set DATABASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", tc.args...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
			require.Contains(t, got.err, tc.want)
			require.Contains(t, got.err, "--help' for usage.")
			require.Empty(t, got.out)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}, {"migrate"}, {"migrate", "status", "--help"}} {
		got := run(t, "", args...)
		require.Equal(t, command.ExitOK, got.code)
		require.Contains(t, got.out, "Usage:")
		require.Empty(t, got.err)
	}
	require.Contains(t, run(t, "", "migrate", "status", "--help").out, "3  there are migrations to apply")
	require.Contains(t, run(t, "").out, "3  migrate status: there are migrations to apply")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := run(t, "", "version")
	require.Equal(t, command.ExitOK, got.code)
	require.Regexp(t, `^dedupe \S+.* \(schema version \d+, go1\.\S+\)\n$`, got.out)
}

// program builds the program itself.
func program(t *testing.T) (binary string) {
	t.Helper()
	binary = t.TempDir() + "/dedupe"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../..").CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// The program itself is small enough to be tried once.
func TestProgram(t *testing.T) {
	t.Parallel()
	binary := program(t)

	script, err := exec.CommandContext(t.Context(), binary, "migrate", "print").Output()
	require.NoError(t, err)
	require.Contains(t, string(script), "CREATE TABLE IF NOT EXISTS idempotency_records")

	cmd := exec.CommandContext(t.Context(), binary, "nonsense")
	require.Error(t, cmd.Run())
	require.Equal(t, command.ExitUsage, cmd.ProcessState.ExitCode())
}
