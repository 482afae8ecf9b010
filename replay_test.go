package dedupe_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Every answer is compared three times: what Temporal is told without the
// plugin, what it is told by the first run, and what by the replay.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, w := range []wiring{{name: "in the clear"}, encrypted("encrypted", newKey)} {
		rows := append(results(), failures()...)
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			reference := native(t, w, rows)
			for _, kind := range []string{"in memory", "in Postgres"} {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					b := setup(t)
					var pool *pgxpool.Pool
					if kind == "in Postgres" {
						pool = b.inPostgres()
					}
					replayRows(t, b, w, rows, reference)
					if pool != nil {
						requireSecret(t, pool, w.vault != nil)
					}
				})
			}
		})
	}
}

// A converter of the user's decides what a failure looks like, also the second
// time.
func TestReplayWithAFailureConverter(t *testing.T) {
	t.Parallel()
	w := wiring{name: "own converter", failing: coded{temporal.GetDefaultFailureConverter()}}
	rows := failures()
	for i := range rows {
		if rows[i].name == "error of the author's own" {
			rows[i].final = true // says the converter
			rows[i].check = func(t *testing.T, got told) {
				t.Helper()
				require.Equal(t, "card/declined", got.failure.GetApplicationFailureInfo().GetType())
				require.Equal(t, "payments", got.failure.GetSource())
			}
		}
	}
	replayRows(t, setup(t), w, rows, native(t, w, rows))
}

// replayRows calls all rows, loses the first answer to each, and compares.
func replayRows(t *testing.T, b *bundle, w wiring, rows []row, reference map[string]told) {
	t.Helper()
	wire := newTap()
	c := b.wired(w, wire, b.pluginWith(dedupe.Options{
		Policies: dedupe.Policies{dedupe.AnyActivity: {}, "oversize": {MaxResultBytes: 1000}},
	}))
	if !slices.ContainsFunc(rows, func(r row) bool { return r.name == "oversize" }) {
		t.Fatal("the policy of the row wants the row")
	}
	b.serveRows(c, rows, wire)
	run := b.start(c, b.queue, "call", true)
	require.NoError(t, run.Get(t.Context(), nil))
	history, _ := recorded(b.history(c, run))
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			answers, replayed := wire.answers(r.name), history[r.name]
			require.GreaterOrEqual(t, len(answers), 2, "the first answer was lost, so there is a second")
			first := answers[0]
			if !r.hangs {
				requireSame(t, w, reference[r.name], first, "without the plugin, and the first run")
			}
			requireSame(t, w, first, replayed, "the first run, and what history holds")
			if r.check != nil {
				r.check(t, w.plain(t, replayed))
			}
			record := b.recordOf(t, r.name)
			switch {
			case replayed.failure == nil:
				require.True(t, proto.Equal(first.result, replayed.result), "also as it is encoded")
				second := history[r.name+again]
				require.True(t, proto.Equal(first.result, second.result) && second.failure == nil, "and under the same business key")
				require.Equal(t, 1, wire.runs(r.name)+wire.runs(r.name+again))
				require.Equal(t, store.StatusCompleted, record.Status)
			case r.final:
				require.Equal(t, 1, wire.runs(r.name))
			default:
				require.Greater(t, wire.runs(r.name), 1, "every attempt runs")
				require.Equal(t, store.StatusFailed, record.Status)
				require.NotEmpty(t, record.Failure, "for people to read")
			}
		})
	}
}

// recordOf returns the record of a row.
func (b *bundle) recordOf(t *testing.T, name string) store.Record {
	t.Helper()
	escape := strings.NewReplacer(" ", "%20")
	r, err := b.store.Get(t.Context(), fmt.Sprintf("b/default/%s/%s%s", escape.Replace(name), b.queue, escape.Replace(name)))
	require.NoError(t, err)
	return r
}

func requireSame(t *testing.T, w wiring, a, b told, what string) {
	t.Helper()
	a, b = w.plain(t, a), w.plain(t, b)
	require.Equal(t, a.result == nil, b.result == nil, what)
	require.True(t, proto.Equal(a.result, b.result), "%s differ:\n%.500v\n%.500v", what, a.result, b.result)
	require.True(t, proto.Equal(a.failure, b.failure), "%s differ:\n%v\n%v", what, a.failure, b.failure)
}

// requireSecret looks for the mark in everything that Postgres holds.
func requireSecret(t *testing.T, pool *pgxpool.Pool, secret bool) {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT status, t::text FROM idempotency_records t WHERE response_body IS NOT NULL OR failure IS NOT NULL")
	require.NoError(t, err)
	defer rows.Close()
	found, seen := map[string]int{}, map[string]int{}
	for rows.Next() {
		var status, text string
		require.NoError(t, rows.Scan(&status, &text))
		seen[status]++
		if strings.Contains(text, mark) || strings.Contains(text, hex.EncodeToString([]byte(mark))) {
			found[status]++
		}
	}
	require.NoError(t, rows.Err())
	require.Positive(t, seen["completed"])
	require.Positive(t, seen["failed"])
	if secret {
		require.Empty(t, found, "the mark of results and failures must not stand in the table")
		return
	}
	require.Positive(t, found["completed"], "in the clear it can be found, or this test would prove nothing")
	require.Positive(t, found["failed"])
}
