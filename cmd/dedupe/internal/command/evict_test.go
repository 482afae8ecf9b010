package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

// expired are records whose retention is over, and two that are held.
const expired = `INSERT INTO idempotency_records (created_at, updated_at, expires_at, lease_expires_at, lease_ms, generation,
	acquisitions, attempt, record_version, effect_possible, pending, non_retryable, owner_token, key, status, request_hash,
	takeover_policy, lineage, invocation, namespace, workflow_id, run_id, activity_id, activity_type, owner, trace_parent, held_since)
SELECT t, t, t, t, 1, 0, 1, 1, 1, held, false, false, gen_random_uuid(), 'k' || n,
	CASE WHEN held THEN 'in_progress' ELSE 'completed' END, 'v1::aa', 'reexecute', '', '', '', '', '', '', '', '', '', CASE WHEN held THEN t END
FROM (SELECT n, n <= 2 AS held, now() - interval '1 hour' AS t FROM generate_series(1, %d) n) x`

func TestEvict(t *testing.T) {
	t.Parallel()

	migrated := func(t *testing.T, records int) string {
		t.Helper()
		database := localpgtest.RequireDatabase(t)
		require.Equal(t, command.ExitOK, run(t, database, "migrate", "up").code)
		psql(t, database, fmt.Sprintf(expired, records))
		return database
	}

	t.Run("removes what is over, and says how much and what waits", func(t *testing.T) {
		t.Parallel()
		database := migrated(t, 27)
		got := run(t, database, "evict", "--batch-size", "10")
		require.Equal(t, command.ExitOK, got.code, got.err)
		require.Regexp(t, `^evicted 25 records in 3 batches and \S+ \(\S{13}\)\n2 records are held and wait for an operator\n$`, got.out)
		got = run(t, database, "evict")
		require.Regexp(t, `^evicted 0 records in 1 batches`, got.out)
	})

	t.Run("stops after so many batches, in JSON", func(t *testing.T) {
		t.Parallel()
		got := run(t, migrated(t, 27), "evict", "--batch-size", "10", "--max-batches", "2", "-o", "json")
		require.Equal(t, command.ExitOK, got.code, got.err)
		var pass struct {
			CorrelationID    string `json:"correlation_id"`
			Removed, Batches int
			More             bool
			Seconds          float64
			Held             *int64
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &pass))
		require.Equal(t, 20, pass.Removed)
		require.Equal(t, 2, pass.Batches)
		require.True(t, pass.More)
		require.EqualValues(t, 2, *pass.Held)
		require.Len(t, pass.CorrelationID, 13)
	})

	t.Run("says that there may be more", func(t *testing.T) {
		t.Parallel()
		got := run(t, migrated(t, 27), "evict", "--batch-size", "10", "--max-batches", "2")
		require.Contains(t, got.out, "evicted 20 records in 2 batches")
		require.Contains(t, got.out, "there may be more: run it again, or leave --max-batches out\n")
	})

	t.Run("fails where the pass did, and says what it removed", func(t *testing.T) {
		t.Parallel()
		database := migrated(t, 5)
		psql(t, database, `DROP TABLE idempotency_maintenance`)
		got := run(t, database, "evict")
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.out, "evicted 3 records")
		require.Contains(t, got.err, "dedupe migrate up")
	})

	t.Run("leaves a trace for whoever asks when it last ran", func(t *testing.T) {
		t.Parallel()
		database := migrated(t, 5)
		require.Equal(t, command.ExitOK, run(t, database, "evict").code)
		psql(t, database, `SELECT 1 / (rows = 3 AND name = 'evict' AND finished_at >= started_at)::integer FROM idempotency_maintenance`)
	})

	t.Run("says when it was interrupted that what is gone is gone", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		database := migrated(t, 100)
		time.AfterFunc(2*time.Second, interrupt)
		var out, errs bytes.Buffer
		code := command.Run(ctx, []string{"evict", "--batch-size", "1", "--rest", "1000", "--database-url", database}, command.Env{
			Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		})
		require.Equal(t, command.ExitError, code)
		require.Equal(t, "dedupe: evict: interrupted: what was removed stays removed; run it again for the rest\n", errs.String())
		require.Regexp(t, `^evicted [1-9]`, out.String())
		require.NotContains(t, out.String(), "--max-batches", "it was not given")
	})

	t.Run("says what to do about a database without tables", func(t *testing.T) {
		t.Parallel()
		got := run(t, localpgtest.RequireDatabase(t), "evict")
		require.Equal(t, command.ExitError, got.code)
		require.Contains(t, got.err, "dedupe migrate up")
	})

	t.Run("refuses what cannot be meant", func(t *testing.T) {
		t.Parallel()
		for want, args := range map[string][]string{
			"--batch-size must be 1 or more, not 0":   {"evict", "--batch-size", "0"},
			"--max-batches must be 0 or more, not -1": {"evict", "--max-batches", "-1"},
			"--rest must be 0 to 1000, not -1":        {"evict", "--rest", "-1"},
			"--rest must be 0 to 1000, not 1001":      {"evict", "--rest", "1001"},
			"--output must be table or json":          {"evict", "-o", "xml"},
			"--timeout must be 1s or more, not 1ms":   {"evict", "--timeout", "1ms"},
			"no database: give --database-url":        {"evict"},
			"takes no arguments":                      {"evict", "everything"},
		} {
			got := run(t, "", args...)
			require.Equal(t, command.ExitUsage, got.code, want)
			require.Contains(t, got.err, want)
		}
	})
}
