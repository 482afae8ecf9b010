package command_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

func TestStats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Regexp(t, `records +0\n`, b.run(command.ExitOK, "stats").out)
	b.hold(reservation("order-42", "1"))
	b.insert(reservation("order-42", "2"))
	r := reservation("order-43", "1")
	r.ActivityType = "Refund"
	b.completed(r)
	out := b.run(command.ExitOK, "stats").out
	for _, want := range []string{
		`records +3\n`, `in progress +2, 0 of them pending: 1 owned, 1 past their lease`, `completed +1, 0 of them`,
		`held +1, the oldest since 20\S+Z, \S+ ago`, `effect possible +1 that nobody owns`, `oldest expiry +20\S+Z, in \S+`,
		`table +\S+ KiB with results, and \S+ KiB of indexes`, `read +1 of 1 pages`,
		`ChargePayment +2 +1 +1 +0 +0 +1 +0 +20`, `Refund +1 +0 +0 +1 +0 +0 +0 +20`,
	} {
		require.Regexp(t, want, out)
	}
	type stats struct {
		Estimated bool
		Total     struct{ Records int64 }
		Types     []struct {
			ActivityType string `json:"activity_type"`
			Held         int64
		}
	}
	got := decode[stats](t, b.run(command.ExitOK, "stats", "--exact", "-o", "json").out)
	require.EqualValues(t, 3, got.Total.Records)
	require.Equal(t, "ChargePayment", got.Types[0].ActivityType)
	require.EqualValues(t, 1, got.Types[0].Held)
	require.False(t, decode[stats](t, b.run(command.ExitOK, "stats", "--estimate", "-o", "json").out).Estimated, "it fits into the sample")
	require.Contains(t, b.run(command.ExitUsage, "stats", "--estimate", "--exact").err, "exclude each other")

	// A pending call counts as such wherever its lease is: it may still be completed.
	psql(t, b.url, `UPDATE idempotency_records SET pending = true WHERE status = 'in_progress'`)
	require.Regexp(t, `in progress +2, 2 of them pending: 1 owned, 1 past their lease`, b.run(command.ExitOK, "stats").out)
	psql(t, b.url, `UPDATE idempotency_records SET lease_ms = 1, lease_expires_at = now() - interval '1h' WHERE status = 'in_progress'`)
	require.Regexp(t, `in progress +2, 2 of them pending: 0 owned, 2 past their lease`, b.run(command.ExitOK, "stats").out)

	psql(t, b.url, fmt.Sprintf(expired, 30_000))
	out = b.run(command.ExitOK, "stats", "--estimate").out
	require.Regexp(t, `records +about \d+\n`, out)
	require.Regexp(t, `(?m)^- +(about \d+ +){7}about 20`, out)
}
