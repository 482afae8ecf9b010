package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
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

func runDemo(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	t.Logf("payment %s\n%s%s", strings.Join(args[:min(len(args), 2)], " "), stdout.String(), stderr.String())
	return result{code, stdout.String(), stderr.String()}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	temporal := devservertest.RequireServer(t).Address()

	t.Run("every order is charged once, and its records are in Postgres", func(t *testing.T) {
		t.Parallel()
		url := localpgtest.RequireDatabase(t)
		r := runDemo(t, "-temporal-address", temporal, "-database-url", url)
		require.Equal(t, "20 orders, 20 charges, 0 duplicates", r.lastLine())
		require.Zero(t, r.code)
		require.Empty(t, r.stderr)
		require.Contains(t, r.stdout, "table idempotency_records")
		require.Contains(t, r.stdout, "Completions lost on the way to Temporal: 7\n")
		require.Contains(t, r.stdout, "replayed")
		requireRecords(t, url, 80)

		again := runDemo(t, "-temporal-address", temporal, "-database-url", url, "-orders", "4")
		require.Equal(t, "4 orders, 4 charges, 0 duplicates", again.lastLine())
		require.Zero(t, again.code)
		requireRecords(t, url, 96)
	})
	t.Run("without deduplication the same faults charge orders twice", func(t *testing.T) {
		t.Parallel()
		r := runDemo(t, "-temporal-address", temporal, "-dedupe=false")
		require.Regexp(t, `^20 orders, \d+ charges, [1-9]\d* duplicates$`, r.lastLine())
		require.Equal(t, exitFault, r.code)
		require.Empty(t, r.stderr)
		require.Contains(t, r.stdout, "DUPLICATE")
	})
	t.Run("a provider that honours keys needs no records", func(t *testing.T) {
		t.Parallel()
		r := runDemo(t, "-temporal-address", temporal, "-dedupe=false", "-honour-keys", "-orders", "4")
		require.Equal(t, "4 orders, 4 charges, 0 duplicates", r.lastLine())
		require.Zero(t, r.code)
	})
	t.Run("without Postgres the records are in memory, and it says so", func(t *testing.T) {
		t.Parallel()
		var stdout, stderr bytes.Buffer
		fine, err := demo(t.Context(), options{
			orders: 4, dedupe: true, temporalAddress: temporal, postgres: localpg.Options{BinDir: t.TempDir()},
		}, &stdout, &stderr)
		require.NoError(t, err)
		require.True(t, fine)
		require.Contains(t, stdout.String(), "IN MEMORY")
		require.Contains(t, stdout.String(), "\n4 orders, 4 charges, 0 duplicates\n")
	})
	t.Run("an interrupt ends it without a verdict", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		stdout := &trigger{text: "Paying", act: cancel}
		var stderr bytes.Buffer
		require.Equal(t, exitInterrupted, run(ctx, []string{"-temporal-address", temporal, "-dedupe=false"}, stdout, &stderr))
		require.Contains(t, stderr.String(), "payment: interrupted")
		require.NotContains(t, stdout.String(), "duplicates")
	})
}

func TestADatabaseThatCannotBeReachedIsAnError(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://shop:secret@127.0.0.1:1/shop", "postgres://shop:secret@127.0.0.1:port/shop"} {
		start := time.Now()
		r := runDemo(t, "-database-url", url)
		require.Equal(t, exitFault, r.code)
		require.Contains(t, r.stderr, "payment: ")
		require.Contains(t, r.stderr, "-database-url (or DATABASE_URL)")
		require.NotContains(t, r.stdout+r.stderr, "secret")
		require.NotContains(t, r.stdout, "MEMORY")
		require.Less(t, time.Since(start), connectTimeout)
	}
}

func TestATemporalServerThatCannotBeReachedIsAnError(t *testing.T) {
	t.Parallel()
	r := runDemo(t, "-temporal-address", "127.0.0.1:1", "-dedupe=false")
	require.Equal(t, exitFault, r.code)
	require.Contains(t, r.stderr, "127.0.0.1:1")
}

// requireRecords fails the test unless so many calls are recorded as completed.
func requireRecords(t *testing.T, url string, want int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	var completed, all int
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT count(*) FILTER (WHERE status = 'completed'), count(*) FROM idempotency_records").Scan(&completed, &all))
	require.Equal(t, want, completed)
	require.Equal(t, want, all)
}

// trigger is a writer that acts when a text was written to it.
type trigger struct {
	text string
	act  func()

	mu sync.Mutex
	bytes.Buffer
}

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.Buffer.String(), w.text) {
		w.act()
	}
	return n, err
}
