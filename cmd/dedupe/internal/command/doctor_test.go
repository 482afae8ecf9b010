package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	// Not the shared cluster, whose fsync is off.
	database := localpgtest.RequireCluster(t, localpg.Options{}).URL()

	got := run(t, database, "doctor", "--timeout", "1m")
	require.Equal(t, command.ExitUnhealthy, got.code, got.err)
	require.Regexp(t, `^FAILURE +schema +there is no table idempotency_records on the search_path\n +to do: run .dedupe migrate up.`, got.out)
	require.Equal(t, command.ExitOK, run(t, database, "migrate", "up").code)

	t.Run("says nothing on a healthy system", func(t *testing.T) {
		got := run(t, database, "doctor", "--timeout", "1m", "--strict")
		all := len(doctor.Checks())
		require.Equal(t, outcome{err: fmt.Sprintf("dedupe: %d checks, %d ok, 2 skipped\n", all, all-2)}, got)
	})

	t.Run("tells warnings from failures", func(t *testing.T) {
		got := run(t, database, "doctor", "--timeout", "1m", "--max-bytes", "1")
		require.Equal(t, command.ExitOK, got.code, got.out)
		require.Regexp(t, `^WARNING +size +`, got.out)
		require.Equal(t, command.ExitUnhealthy, run(t, database, "doctor", "--timeout", "1m", "--max-bytes", "1", "--strict").code)
	})

	t.Run("tells every check in JSON", func(t *testing.T) {
		got := run(t, database, "doctor", "-o", "json", "--timeout", "1m", "--schema", "Elsewhere")
		require.Equal(t, command.ExitUnhealthy, got.code)
		var report struct {
			Results []struct {
				Check, Status, Remedy string
				Findings              []string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &report))
		require.Len(t, report.Results, len(doctor.Checks()))
		require.Equal(t, "database", report.Results[0].Check)
		require.Equal(t, "ok", report.Results[0].Status)
		require.Contains(t, got.out, `"status": "failure"`)
		require.Contains(t, got.out, "migrate up")
	})

	t.Run("looks at Temporal if it is told where, and with the file of policies", func(t *testing.T) {
		path := requireFile(t, "activities: {Charge: {}}\n")
		got := run(t, database, "doctor", "--timeout", "1m", "--temporal-address", "127.0.0.1:1", "--config", path)
		require.Equal(t, command.ExitUnhealthy, got.code)
		require.Regexp(t, `(?m)^FAILURE +temporal +127\.0\.0\.1:1 does not answer`, got.out)
		for line := range strings.Lines(got.out) {
			require.Regexp(t, `^(FAILURE| +to do:)`, line)
		}
	})
}

func TestDoctorRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no database":         {[]string{"doctor"}, "dedupe: no database"},
		"a timeout of zero":   {[]string{"doctor", "--timeout", "0"}, "dedupe: --timeout must be 1ms or more, not 0s"},
		"an age below zero":   {[]string{"doctor", "--max-sweep-age", "-1h"}, "--max-sweep-age must be"},
		"a size of nothing":   {[]string{"doctor", "--max-bytes", "0"}, "--max-bytes must be 1 or more, not 0"},
		"a sample of nothing": {[]string{"doctor", "--sample-bytes", "-1"}, "--sample-bytes must be 1 or more, not -1"},
		"a check that is not": {[]string{"doctor", "--skip", "fsink"}, `--skip: there is no check "fsink"`},
		"a namespace alone":   {[]string{"doctor", "--temporal-namespace", "x"}, "--temporal-namespace needs --temporal-address"},
		"TLS alone":           {[]string{"doctor", "--temporal-tls"}, "--temporal-tls needs --temporal-address"},
		"an unknown output":   {[]string{"doctor", "-o", "xml"}, "--output must be table or json"},
		"an argument":         {[]string{"doctor", "now"}, "takes no arguments"},
		"a flag that is not":  {[]string{"doctor", "--quick"}, "unknown flag: --quick"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", tc.args...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
			require.Contains(t, got.err, tc.want)
		})
	}

	t.Run("to be content when every check is skipped", func(t *testing.T) {
		t.Parallel()
		got := run(t, "postgres://x@127.0.0.1:1/x", "doctor", "--skip", "database")
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.err, "dedupe: doctor: every check was skipped, so that nothing was looked at")
	})
	t.Run("a file of policies that cannot be used", func(t *testing.T) {
		t.Parallel()
		got := run(t, "postgres://x@127.0.0.1:1/x", "doctor", "--config", requireFile(t, "activities: {Charge: {ttl: 3}}\n"))
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.err, "activities.Charge.ttl: no such field")
	})
}
