package crashtest_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// run runs cells on the tests' Temporal server and returns what was printed.
func run(t *testing.T, o crashtest.Options) (crashtest.Report, string) {
	t.Helper()
	server := devservertest.RequireServer(t)
	o.TemporalAddress, o.Namespace = server.Address(), server.Namespace()
	var out bytes.Buffer
	o.Out = &out
	r, err := crashtest.Run(t.Context(), o)
	t.Logf("\n%s\n%s%s", out.String(), r, r.Summary())
	require.NoError(t, err)
	return r, out.String()
}

// It has the machine for itself: eight workers die at a time.
func TestEveryPromiseIsKeptInEveryWindow(t *testing.T) {
	url := localpgtest.RequireDatabase(t)
	r, printed := run(t, crashtest.Options{DatabaseURL: url})
	require.True(t, r.OK())
	require.Equal(t, "30 kills, 0 duplicate charges, 0 lost orders", r.Summary())
	require.Len(t, r.Cells, 30, "five windows, three policies, two providers")
	for _, c := range r.Cells {
		require.Equal(t, 1, c.Kills, "%+v", c)
		require.Equal(t, 8, c.Paid+c.Held, "%+v", c)
	}
	require.Equal(t, 30, strings.Count(printed, "\nkill "), "a line for each kill")
	require.Zero(t, query[int](t, url, "SELECT count(*) FROM idempotency_records"), "a given database is left as it was")
}

// The promises do not depend on the store, where workers die and no server does.
func TestEveryPromiseIsKeptInEveryWindowWithRecordsInRedis(t *testing.T) {
	server := localredistest.RequireServer(t, localredis.Options{})
	r, _ := run(t, crashtest.Options{DatabaseURL: server.URL()})
	require.True(t, r.OK())
	require.Equal(t, "30 kills, 0 duplicate charges, 0 lost orders", r.Summary())
	keys, err := localredistest.RequireClient(t, server).Keys(t.Context(), "dedupe:*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "a given Redis is left as it was")
}

func TestWithoutDedupeTheSameKillsChargeTwice(t *testing.T) {
	r, _ := run(t, crashtest.Options{WithoutDedupe: true})
	require.False(t, r.OK())
	require.Len(t, r.Cells, 8, "there is no reservation to die before")
	for _, c := range r.Cells {
		require.Zero(t, c.Lost)
		switch {
		case c.Keys == crashtest.HonoursKeys:
			require.Zero(t, c.Duplicates, "the provider needs no help")
		case c.Window == crashtest.BeforeRecord || c.Window == crashtest.BeforeReport:
			require.Positive(t, c.Duplicates, c.Window)
		}
	}
}

func TestRunStartsADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	localpgtest.RequireDatabase(t) // or skips: there is no Postgres
	r, printed := run(t, crashtest.Options{
		Rounds: 2, Orders: 3, Windows: []crashtest.Window{crashtest.AfterReport},
		Policies: []store.TakeoverPolicy{store.Verify}, Keys: []crashtest.Keys{crashtest.IgnoresKeys},
	})
	require.Equal(t, "2 kills, 0 duplicate charges, 0 lost orders", r.Summary())
	require.Contains(t, printed, "a private one")
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options crashtest.Options
		want    string
	}{
		"when a number is negative":           {crashtest.Options{Rounds: -1}, "Options.Rounds is -1"},
		"when the database cannot be reached": {crashtest.Options{DatabaseURL: "postgres://nobody@127.0.0.1:1/none"}, "does not answer"},
		"when Temporal cannot be reached":     {crashtest.Options{WithoutDedupe: true, TemporalAddress: "127.0.0.1:1"}, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := crashtest.Run(t.Context(), tc.options)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestAnInterruptedRunTellsNothing(t *testing.T) {
	t.Parallel()
	server := devservertest.RequireServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := crashtest.Run(ctx, crashtest.Options{
		WithoutDedupe: true, TemporalAddress: server.Address(), Namespace: server.Namespace(),
		Out: writer(func(line []byte) {
			if bytes.HasPrefix(line, []byte("kill ")) {
				cancel()
			}
		}),
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, r.Cells)
}

// writer is a writer from a function.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
