package pgstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// stoppedClock makes every write of a test happen at the same time.
const stoppedClock = `
CREATE SCHEMA clock;
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT timestamptz '2100-01-01' $$`

// everyState inserts a record in every state that the table admits, for each of so
// many settlements, and each twice: for the short way of completing and for the long.
const everyState = `
INSERT INTO idempotency_records (
    created_at, updated_at, expires_at, lease_expires_at, held_since, lease_ms, result_size,
    generation, acquisitions, attempt, record_version, effect_possible, pending, non_retryable,
    owner_token, key, status, request_hash, takeover_policy, tombstone, failure, response_body,
    lineage, invocation, namespace, workflow_id, run_id, activity_id, activity_type, owner, trace_parent)
SELECT timestamptz '2099-01-01', timestamptz '2099-01-01', timestamptz '2101-01-01', lease, held, 1000, length(body),
    generation, 1, 1, 1, effect, pending, final,
    owner, way || n, status, 'h', 'reexecute', tombstone, failure, body, '', '', '', '', '', '', '', '', ''
FROM (
    SELECT *, row_number() OVER () - 1 AS n
    FROM unnest(ARRAY['in_progress', 'completed', 'failed']) status
    CROSS JOIN unnest($1::uuid[]) owner
    CROSS JOIN unnest(ARRAY[timestamptz 'epoch', '2099-12-31', '2100-01-01', '2100-01-02']) lease
    CROSS JOIN unnest(ARRAY[NULL, timestamptz '2099-06-01']) held
    CROSS JOIN unnest(ARRAY[0, 3]) generation
    CROSS JOIN unnest(ARRAY[true, false]) effect
    CROSS JOIN unnest(ARRAY[true, false]) pending
    CROSS JOIN unnest(ARRAY[true, false]) final
    CROSS JOIN unnest(ARRAY[NULL, 'purged']) tombstone
    CROSS JOIN unnest(ARRAY[NULL, bytea 'no']) failure
    CROSS JOIN unnest(ARRAY[NULL, bytea '', bytea 'paid']) body
    CROSS JOIN generate_series(1, $2::integer) settlement
    WHERE (status = 'completed' OR body IS NULL)
      AND (status = 'failed' OR (failure IS NULL AND NOT final))
      AND (status = 'in_progress' OR NOT pending)
      AND (status = 'completed' OR tombstone IS NULL)
      AND (tombstone IS NULL OR body IS NULL)
) s CROSS JOIN unnest(ARRAY['short', 'full']) way`

// TestTheShortWayOfCompletingDoesWhatTheLongOneDoes completes records in every state
// both ways, all of them in one statement and in no order.
func TestTheShortWayOfCompletingDoesWhatTheLongOneDoes(t *testing.T) {
	t.Parallel()
	s, pool := requireOwnStore(t, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog, public"
	})

	settlements := []store.Settlement{
		{}, {Result: []byte{}}, {Result: []byte("paid"), ResultSize: 4}, {Result: []byte{0, 255}, ResultSize: 7},
		{Tombstone: store.TombstoneResultTooLarge, ResultSize: 1 << 40}, {Tombstone: store.TombstonePurged},
	}
	token, other := store.NewToken(), store.NewToken()
	_, err := pool.Exec(t.Context(), stoppedClock)
	require.NoError(t, err)
	tag, err := pool.Exec(t.Context(), everyState, []string{token.String(), other.String()}, len(settlements))
	require.NoError(t, err)
	var rows []store.Settlement
	for n := range int(tag.RowsAffected()/2) + 1 { // and one that is absent
		row := settlements[n%len(settlements)]
		row.Key, row.Token, row.Outcome = fmt.Sprint(n), token, store.OutcomeComplete
		rows = append(rows, row)
	}
	rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	named := func(way string) []store.Settlement {
		return column(rows, func(r *store.Settlement) store.Settlement {
			named := *r
			named.Key = way + r.Key
			return named
		})
	}
	records := func(way string) map[string]string {
		all := map[string]string{}
		found, err := pool.Query(t.Context(), `SELECT r.key, (to_jsonb(r) - 'key')::text FROM idempotency_records r WHERE r.key LIKE $1`, way+"%")
		require.NoError(t, err)
		var key, record string
		_, err = pgx.ForEachRow(found, []any{&key, &record}, func() error {
			all[strings.TrimPrefix(key, way)] = record
			return nil
		})
		require.NoError(t, err)
		return all
	}

	before := records("short")
	require.Equal(t, before, records("full"))
	full, err := ask(t.Context(), s.pool, s.sql.settle, settlementArgs(named("full")), len(rows), settleds)
	require.NoError(t, err)
	short := make([]store.Settled, len(rows))
	err = s.complete(named("short"), short).run(t.Context(), s.pool)
	require.NoError(t, err)
	after, want := records("short"), records("full")
	taken := 0
	for i, r := range rows {
		if short[i] == "" {
			require.Equal(t, before[r.Key], after[r.Key], "what is left to the long way is as it was")
			require.Equal(t, before[r.Key], want[r.Key], "the long way has nothing to change either: %v", full[i])
			continue
		}
		taken++
		require.Equal(t, full[i], short[i])
		require.Equal(t, want[r.Key], after[r.Key], "from %s", before[r.Key])
	}
	require.Positive(t, taken)
	settled := make([]store.Settled, len(rows))
	err = s.settle(named("short"), settled).run(t.Context(), s.pool)
	require.NoError(t, err)
	require.Equal(t, full, settled, "the rest, and the repetition of what was completed")
	require.Equal(t, want, records("short"))
}
