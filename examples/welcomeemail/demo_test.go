package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
)

// result is what a run of the program leaves behind.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) lastLine() string {
	lines := strings.Split(strings.TrimRight(r.stdout, "\n"), "\n")
	return lines[len(lines)-1]
}

// rows returns the lines of the table, in words.
func (r result) rows() [][]string {
	var rows [][]string
	_, table, _ := strings.Cut(r.stdout, "WORKFLOW")
	for _, line := range strings.Split(table, "\n")[1:] {
		if line == "" {
			break
		}
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

func runDemo(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	t.Logf("%s%s", stdout.String(), stderr.String())
	return result{code, stdout.String(), stderr.String()}
}

// Not parallel: the program finds its Temporal server by an environment variable.
func TestDemo(t *testing.T) {
	t.Setenv(devserver.AddressVar, devservertest.RequireServer(t).Address())

	t.Run("the second workflow gets the first one's answer, which names the run that sent", func(t *testing.T) {
		server := localredistest.RequireServer(t, localredis.Options{})
		r := runDemo(t, "-redis-url", server.URL())
		require.Equal(t, "3 users, 6 workflows, 3 emails, 0 duplicates", r.lastLine())
		require.Zero(t, r.code)
		require.Empty(t, r.stderr)
		require.NotContains(t, r.stdout, server.URL(), "it holds the password")
		rows := r.rows()
		require.Len(t, rows, 6)
		for i := 0; i < len(rows); i += 2 {
			first, second := rows[i], rows[i+1]
			require.Equal(t, first[:2], first[3:], "the first workflow sent it itself")
			require.NotEqual(t, first[:2], second[:2])
			require.Equal(t, first[2:], second[2:], "the second one gets the first one's answer")
		}
		keys, err := localredistest.RequireClient(t, server).Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Len(t, keys, 3)
		require.Contains(t, keys, "welcomeemail:b/default/SendWelcome/welcome%2Fuser-1")

		again := runDemo(t, "-redis-url", server.URL())
		require.Equal(t, "3 users, 6 workflows, 0 emails, 0 duplicates", again.lastLine())
		for i, row := range again.rows() {
			require.Equal(t, rows[i][2:], row[2:], "the records outlive the program")
		}
	})
	t.Run("a private Redis is started where none is named", func(t *testing.T) {
		localredistest.RequireServer(t, localredis.Options{}) // skips where there is none
		r := runDemo(t, "-users", "2")
		require.Equal(t, "2 users, 4 workflows, 2 emails, 0 duplicates", r.lastLine())
		require.Contains(t, r.stdout, "this Redis is private")
	})
	t.Run("without Redis the records are in memory, and it says so", func(t *testing.T) {
		var stdout bytes.Buffer
		fine, err := demo(t.Context(), options{users: 2, dedupe: true, redis: localredis.Options{Path: "/nowhere/redis-server"}}, &stdout)
		require.NoError(t, err)
		require.True(t, fine)
		require.Contains(t, stdout.String(), "IN MEMORY")
		require.Contains(t, stdout.String(), "\n2 users, 4 workflows, 2 emails, 0 duplicates\n")
	})
	t.Run("without deduplication every user gets two emails", func(t *testing.T) {
		r := runDemo(t, "-dedupe=false", "-users", "2")
		require.Equal(t, "2 users, 4 workflows, 4 emails, 2 duplicates", r.lastLine())
		require.Equal(t, exitFault, r.code)
	})
}

func TestARedisThatCannotBeReachedIsAnError(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://:secret@127.0.0.1:1/0": "the Redis at 127.0.0.1:1",
		"http://secret":                 "-redis-url (or REDIS_URL) is no address",
	} {
		r := runDemo(t, "-redis-url", url)
		require.Equal(t, exitFault, r.code)
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stdout+r.stderr, "secret")
		require.NotContains(t, r.stdout, "MEMORY")
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no users are refused":                {[]string{"-users", "0"}, "welcomeemail: -users is 0, want 1 to 50\n"},
		"an argument without a dash is named": {[]string{"dedupe"}, `welcomeemail: unexpected argument "dedupe"; flags begin with a dash`},
		"an unknown flag is named":            {[]string{"-user", "3"}, "flag provided but not defined: -user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), test.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), test.want)
			require.Empty(t, stdout.String())
		})
	}
}

func TestHelpDoesNotPrintTheRedisURL(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://:secret@127.0.0.1:1/0")
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFine, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-redis-url")
	require.NotContains(t, stderr.String(), "secret")
}
