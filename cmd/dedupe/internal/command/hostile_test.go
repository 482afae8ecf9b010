package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

// runWith is run with something on standard input.
func runWith(t *testing.T, databaseURL, in string, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := command.Run(t.Context(), args, command.Env{
		In: strings.NewReader(in), Out: &out, Err: &err,
		Getenv: func(name string) string { return map[string]string{"DATABASE_URL": databaseURL}[name] },
	})
	return outcome{code: code, out: out.String(), err: err.String()}
}

// An operator's `--workflow "$ORDER"` with a variable that is not set must not
// mean every record.
func TestFlagsThatAreEmptyAreRefused(t *testing.T) {
	t.Parallel()
	const nowhere = "postgres://127.0.0.1:1/nowhere"
	change := []string{"--reason", "x", "--yes"}
	for name, args := range map[string][]string{
		"workflow":         append([]string{"records", "purge", "--delete", "--workflow", ""}, change...),
		"run":              append([]string{"records", "release", "--run="}, change...),
		"activity":         append([]string{"records", "fail", "--message", "x", "--activity", ""}, change...),
		"status":           append([]string{"records", "release", "--status", ""}, change...),
		"namespace":        append([]string{"records", "release", "--held", "--namespace", ""}, change...),
		"mark":             append([]string{"records", "release", "key", "--mark", ""}, change...),
		"plan":             append([]string{"records", "release", "--held", "--plan", ""}, change...),
		"schema":           {"stats", "--schema", ""},
		"database-url":     {"migrate", "down", "--yes", "--database-url", ""},
		"temporal-address": {"doctor", "--temporal-address", ""},
		"skip":             {"doctor", "--skip", ""},
		"activities":       {"config", "check", "dedupe.yaml", "--activities", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, nowhere, args...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
			require.Contains(t, got.err, "dedupe: --"+name+" is empty")
		})
	}
	for name, args := range map[string][]string{
		"a key":                  append([]string{"records", "release", ""}, change...),
		"a key among others":     append([]string{"records", "purge", "w/key", ""}, change...),
		"the key of the audit":   {"records", "audit", ""},
		"the key to be shown":    {"records", "show", ""},
		"a flag that is off":     append([]string{"records", "purge", "--delete", "--held=false"}, change...),
		"two flags that are off": append([]string{"records", "release", "--pending=false", "--past-lease=false"}, change...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, nowhere, args...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
		})
	}
}

func TestWrongArgumentsEndWithTheirCode(t *testing.T) {
	t.Parallel()
	const nowhere = "postgres://127.0.0.1:1/nowhere"
	for name, test := range map[string]struct {
		url  string
		args []string
	}{
		"a key that is no text":      {nowhere, []string{"records", "show", "bad\xff"}},
		"a key with a zero byte":     {nowhere, []string{"records", "release", "bad\x00", "--reason", "x"}},
		"a workflow that is no text": {nowhere, []string{"records", "list", "--workflow", "bad\xff"}},
		"a lock timeout before now":  {nowhere, []string{"migrate", "up", "--lock-timeout", "-1s"}},
		"a name in a list, no text":  {nowhere, []string{"doctor", "--skip", "fsync,bad\xff"}},
		"a reason of nothing":        {nowhere, []string{"records", "release", "w/k", "--reason", "  "}},
		"a lock timeout of nothing":  {nowhere, []string{"migrate", "up", "--lock-timeout", "1ns"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, test.url, test.args...)
			require.Equal(t, command.ExitUsage, got.code, got.err)
			require.NotContains(t, got.err, "s3cret")
		})
	}
}

// databaseCommands are all commands that take a URL.
var databaseCommands = [][]string{
	{"stats"}, {"records", "list"}, {"records", "find", "--workflow", "w", "--activity", "a"}, {"records", "show", "k"},
	{"records", "audit"}, {"records", "release", "w/a/b", "--reason", "x"}, {"evict"}, {"doctor"},
	{"migrate", "status"}, {"migrate", "up"}, {"migrate", "down", "--yes"},
}

// A URL that cannot be used is one mistake, whatever the command: one code, one
// text with the cause, and no part of the password.
func TestURLsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	const hint = "percent-encoded"
	for url, want := range map[string]string{
		"s3cret":                                                           "it should look like postgres://user:password@host:5432/database",
		"postgres://me:/s3cret@127.0.0.1:1/x":                              hint,
		"postgres://me:s3cret@host:port/x":                                 hint,
		"postgres://me:s3cret@127.0.0.1:1/x?sslmode=bogus":                 "sslmode is invalid",
		"postgres://me:s3cret@127.0.0.1:1/x?connect_timeout=abc":           "invalid connect_timeout",
		"postgres://me:s3cret@127.0.0.1:1/x?default_query_exec_mode=bogus": "invalid default_query_exec_mode",
	} {
		for _, args := range databaseCommands {
			got := run(t, url, args...)
			require.Equal(t, command.ExitUsage, got.code, "%v: %s", args, got.err)
			require.True(t, strings.HasPrefix(got.err, "dedupe: the database URL cannot be understood"), got.err)
			require.Contains(t, got.err, want)
			require.Equal(t, want == hint, strings.Contains(got.err, hint), got.err)
			require.NotContains(t, got.err, "s3cret")
		}
	}
}

// A parameter that the server does not know is named, as a mistake in a name has to be.
func TestParametersThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, args := range databaseCommands {
		got := run(t, b.with("foo", "s3cret"), args...)
		require.Contains(t, got.out+got.err, "foo", args)
		require.NotContains(t, got.out+got.err, "s3cret", args)
	}
}

// steers tells whether a text has a rune that a terminal obeys.
func steers(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) })
}

// Escape sequences, as ESC and as the C1 control that UTF-8 terminals take for
// one, and a mark that turns the direction of the line.
const steering = "\x1b[2J\u009b31m\u202e"

func TestTextOfOthersDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := reservation("it's "+steering, "1")
	r.ActivityType, r.Owner, r.RunID, r.ActivityID = "Charge"+steering, steering, steering, steering
	b.hold(r)
	by := []string{"--reason", "why" + steering, "--actor", "ann" + steering}
	for name, args := range map[string][]string{
		"list":                     {"records", "list"},
		"list as JSON":             {"records", "list", "-o", "json"},
		"list with a hint":         {"records", "list", "--limit", "1"},
		"show":                     {"records", "show", r.Key, "--ui-address", "https://ui.example.com"},
		"show as JSON":             {"records", "show", r.Key, "-o", "json"},
		"show what is not there":   {"records", "show", steering},
		"a dry run":                append([]string{"records", "release", r.Key}, by...),
		"a dry run as JSON":        append([]string{"records", "release", r.Key, "-o", "json"}, by...),
		"stats":                    {"stats"},
		"stats as JSON":            {"stats", "-o", "json"},
		"doctor":                   {"doctor", "--skip", "fsync"},
		"doctor as JSON":           {"doctor", "-o", "json"},
		"a schema":                 {"stats", "--schema", steering},
		"a command":                {steering},
		"a flag":                   {"--" + steering},
		"a value of a flag":        {"stats", "--timeout", steering},
		"a format":                 {"stats", "-o", steering},
		"a file that is not there": {"config", "check", steering},
		"a plan that is not there": append([]string{"records", "release", "--plan", steering}, by...),
	} {
		got := run(t, b.url, args...)
		require.NotEmpty(t, got.out+got.err, name)
		assert.False(t, steers(got.out), "%s: %q", name, got.out)
		assert.False(t, steers(got.err), "%s: %q", name, got.err)
		if strings.HasSuffix(name, "as JSON") {
			require.True(t, json.Valid([]byte(got.out)), name)
			if strings.HasPrefix(name, "show") {
				require.Equal(t, r.Key, decode[listed](t, got.out).Key, "JSON says what stands in the record")
			}
		}
	}
	b.run(command.ExitOK, append([]string{"records", "release", r.Key, "--yes"}, by...)...)
	for _, format := range []string{"table", "json"} {
		got := b.run(command.ExitOK, "records", "audit", "-o", format)
		require.Contains(t, got.out, "ann")
		assert.False(t, steers(got.out), "%q", got.out)
	}
}

func TestFilesDoNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dedupe"+steering+".yaml")
	require.NoError(t, os.WriteFile(file, []byte("activities:\n  A: {retention: 2h}\n"), 0o600))
	for name, text := range map[string]string{
		"an activity type": `activities: {"A\e[2J\u009b31m": {retention: 2h}}`,
		"a field":          `activities: {"A\e[2J": {"field\e[2J\u009b31m": 2h}}`,
		"a value":          `activities: {"A\e[2J": {scope: "run\e[2J\u009b31m"}}`,
		"a duration":       `activities: {"A\e[2J": {retention: "2h\e[2J\u009b31m"}}`,
		"raw":              "activities: {\"A" + steering + "\": {retention: 2h}}",
		"no YAML":          "a: b: " + steering + ": [",
	} {
		for _, verb := range []string{"check", "show"} {
			for _, format := range []string{"table", "json"} {
				got := runWith(t, "", text, "config", verb, "-", "-o", format)
				require.NotEmpty(t, got.out+got.err)
				assert.False(t, steers(got.out+got.err), "%s, %s: %q", name, verb, got.out+got.err)
			}
		}
	}
	for _, verb := range []string{"check", "show"} {
		got := run(t, "", "config", verb, file, "--activities", "B"+steering)
		require.Equal(t, command.ExitOK, got.code)
		assert.False(t, steers(got.out+got.err), "%q", got.out+got.err)
	}
}

func TestPlanThatNamesNoMarkIsRefused(t *testing.T) {
	t.Parallel()
	plan := `{"verb": "release", "dry_run": true, "records": [{"key": "k", "result": "would change"}]}`
	got := runWith(t, "postgres://127.0.0.1:1/nowhere", plan, "records", "release", "--plan", "-", "--reason", "x", "--yes")
	require.Equal(t, command.ExitUsage, got.code, got.err)
	require.Contains(t, got.err, `dedupe: --plan -: the record "k" has no mark`)
}

func TestHintsCanBePastedIntoAShell(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, workflow := range []string{"'; touch pwned; '", "it's\\\x1b[31m"} {
		b.hold(reservation(workflow, "1"))
	}
	got := b.run(command.ExitOK, "records", "list", "--limit", "1").err
	require.Contains(t, got, `--after 'w/default/'\''; touch pwned; '\''/0/ChargePayment/1'`)
	got = b.run(command.ExitOK, "records", "list", "--limit", "2").err
	require.Contains(t, got, `--after $'w/default/it\'s\\\x1b[31m/0/ChargePayment/1'`)
}
