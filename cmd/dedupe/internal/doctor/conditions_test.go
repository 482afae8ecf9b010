package doctor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// database returns the name of a URL's database, quoted.
func database(t testing.TB, link string) string {
	t.Helper()
	config, err := pgx.ParseConfig(link)
	require.NoError(t, err)
	return pgx.Identifier{config.Database}.Sanitize()
}

// Each condition is made in a healthy database, and nothing else is found.
func TestConditions(t *testing.T) {
	t.Parallel()
	record := func(change string, policy store.TakeoverPolicy) func(*testing.T, string) {
		return func(t *testing.T, link string) {
			requireRecord(t, link, "k", policy)
			execute(t, link, `UPDATE idempotency_records SET `+change)
		}
	}
	keyed := func(key, workflow string) func(*testing.T, string) {
		return func(t *testing.T, link string) {
			requireRecord(t, link, key, store.Reexecute)
			execute(t, link, `UPDATE idempotency_records SET workflow_id = $2 WHERE key = $1`, key, workflow)
		}
	}
	statements := func(text string) func(*testing.T, string) {
		return func(t *testing.T, link string) { execute(t, link, text) }
	}
	const swept = `INSERT INTO idempotency_maintenance VALUES ('evict', now() - interval '3h', now() - interval '%', 0, 'c')`
	for _, tc := range []struct {
		name    string
		make    func(t *testing.T, link string)
		options doctor.Options
		want    map[string]string
	}{
		{
			"nothing at all", func(*testing.T, string) {}, doctor.Options{}, nil,
		}, {
			"a database that is read-only by default",
			func(t *testing.T, link string) {
				execute(t, link, `ALTER DATABASE `+database(t, link)+` SET default_transaction_read_only = on`)
			},
			doctor.Options{}, map[string]string{"read-only": "default_transaction_read_only is on"},
		}, {
			"tables of an older release", statements(`UPDATE idempotency_schema SET version = 0`),
			doctor.Options{}, map[string]string{"schema": `the tables in the schema "public" have version 0, this release needs 1`},
		}, {
			"tables of a newer release", statements(`INSERT INTO idempotency_schema VALUES (9, now())`),
			doctor.Options{}, map[string]string{"schema": "have version 9"},
		}, {
			"tables in another schema", func(*testing.T, string) {},
			doctor.Options{Schema: `Else"where`}, map[string]string{"schema": `there is no table idempotency_records in the schema "Else\"where"`},
		}, {
			"no tables", statements(`ALTER TABLE idempotency_records RENAME TO gone`),
			doctor.Options{}, map[string]string{"schema": "there is no table idempotency_records on the search_path"},
		}, {
			"a table that evictions write", statements(`DROP TABLE idempotency_maintenance`),
			doctor.Options{}, map[string]string{"schema": `the schema "public" lacks the table idempotency_maintenance`},
		}, {
			"a table that operators write", statements(`DROP TABLE idempotency_audit`),
			doctor.Options{}, map[string]string{"schema": `the schema "public" lacks the table idempotency_audit`},
		}, {
			"the table of versions", statements(`DROP TABLE idempotency_schema`),
			doctor.Options{}, map[string]string{"schema": `the schema "public" lacks the table idempotency_schema`},
		}, {
			"a column that is gone", statements(`ALTER TABLE idempotency_records DROP COLUMN tombstone`),
			doctor.Options{}, map[string]string{"schema": `the schema "public" lacks the column idempotency_records.tombstone`},
		}, {
			"an index that is gone", statements(`DROP INDEX idempotency_records_expires_at`),
			doctor.Options{}, map[string]string{"indexes": "idempotency_records_expires_at is missing"},
		}, {
			"a primary key that is gone", statements(`ALTER TABLE idempotency_records DROP CONSTRAINT idempotency_records_pkey`),
			doctor.Options{}, map[string]string{"indexes": "idempotency_records_pkey is missing"},
		}, {
			"an index whose rebuilding failed",
			statements(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idempotency_records_held_since'::regclass`),
			doctor.Options{}, map[string]string{"indexes": "idempotency_records_held_since is invalid"},
		}, {
			"an index on the status", statements(`CREATE INDEX mine ON idempotency_records (workflow_id, status)`),
			doctor.Options{}, map[string]string{"extra-indexes": "mine names status"},
		}, {
			"an index for some states", statements(`CREATE INDEX mine ON idempotency_records (workflow_id) WHERE status = 'failed'`),
			doctor.Options{}, map[string]string{"extra-indexes": "mine names status"},
		}, {
			"an index that completion does not touch", statements(`CREATE INDEX mine ON idempotency_records (workflow_id)`),
			doctor.Options{}, nil,
		}, {
			"commits that are not waited for",
			func(t *testing.T, link string) {
				execute(t, link, `ALTER DATABASE `+database(t, link)+` SET synchronous_commit = off`)
			},
			doctor.Options{}, map[string]string{"synchronous-commit": "synchronous_commit is off"},
		}, {
			"an evictor that stopped", statements(strings.ReplaceAll(swept, "%", "2h")),
			doctor.Options{}, map[string]string{"sweep": "the last eviction ended 2h0m"},
		}, {
			"an evictor that ran", statements(strings.ReplaceAll(swept, "%", "50 min")),
			doctor.Options{}, nil,
		}, {
			"an evictor that never ran", record(`created_at = now() - interval '2h'`, store.Reexecute),
			doctor.Options{}, map[string]string{"sweep": "no eviction has ever ended, and the oldest record is 2h0m"},
		}, {
			"a record that nobody evicts",
			record(`created_at = now() - interval '9h', expires_at = now() - interval '3h', status = 'completed'`, store.Reexecute),
			doctor.Options{MaxSweepAge: 2 * time.Hour},
			map[string]string{"sweep": "no eviction has ever ended", "expired": "kept 3h0m"},
		}, {
			"a table without autovacuum", statements(`ALTER TABLE idempotency_records SET (autovacuum_enabled = off)`),
			doctor.Options{}, map[string]string{"autovacuum": "autovacuum_enabled is off on idempotency_records"},
		}, {
			"a prepared transaction that was forgotten",
			func(t *testing.T, link string) {
				execute(t, link, `BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'forgotten'`)
				t.Cleanup(func() {
					conn, err := pgx.Connect(context.Background(), link)
					require.NoError(t, err)
					_, err = conn.Exec(context.Background(), `ROLLBACK PREPARED 'forgotten'`)
					require.NoError(t, err)
					require.NoError(t, conn.Close(context.Background()))
				})
			},
			doctor.Options{StuckAfter: time.Millisecond}, map[string]string{"long-transactions": "transaction 'forgotten' has been prepared since"},
		}, {
			"a lease that outlives its record", record(`lease_expires_at = expires_at + interval '1h'`, store.Reexecute),
			doctor.Options{}, map[string]string{"leases": `1 records in progress have a lease that ends after their retention, such as "k"`},
		}, {
			"a record whose owner died",
			record(`updated_at = now() - interval '3h', lease_expires_at = now() - interval '2h'`, store.Reexecute),
			doctor.Options{}, map[string]string{"stuck": `1 records are in progress, with a lease that ended more than 1h0m0s ago, such as "k"`},
		}, {
			"a pending call that nobody completed",
			record(`updated_at = now() - interval '3h', lease_expires_at = now() - interval '2h', pending = true`, store.Reexecute),
			doctor.Options{}, map[string]string{"stuck": "1 records are in progress"},
		}, {
			"a record that its owner gave up", record(`updated_at = now() - interval '3h', lease_expires_at = 'epoch'`, store.Reexecute),
			doctor.Options{}, nil,
		}, {
			"a held record", record(`held_since = now(), lease_expires_at = 'epoch'`, store.Refuse),
			doctor.Options{}, map[string]string{"unknown-outcomes": `1 records are held for an operator, the oldest since`},
		}, {
			"an unknown outcome that nobody asked for",
			record(`updated_at = now() - interval '3h', lease_expires_at = 'epoch'`, store.Verify),
			doctor.Options{}, map[string]string{"unknown-outcomes": `1 records under Refuse or Verify have an unknown outcome that nobody has asked for in 1h0m0s`},
		}, {
			"calls of a workflow without the plugin", keyed("i/prod/order-42/run-1/5/7000000011/Charge", "order-42"),
			doctor.Options{}, map[string]string{"workflow-side": `1 records of Charge, made by workflows since yesterday, have a key that ends with their scheduling, such as "i/prod/`},
		}, {
			"local calls of a workflow without the plugin, under a prefix", keyed("eu:il/prod/order-42/run-1/5/7000000011/Charge", "order-42"),
			doctor.Options{}, map[string]string{"workflow-side": `such as "eu:il/prod/`},
		}, {
			"calls of a workflow without the plugin, until it got one",
			func(t *testing.T, link string) {
				keyed("i/prod/order-42/run-1/5/7000000011/Charge", "order-42")(t, link)
				execute(t, link, `UPDATE idempotency_records SET created_at = now() - interval '25h';
					INSERT INTO idempotency_maintenance VALUES ('evict', now(), now(), 0, 'c')`)
			},
			doctor.Options{}, nil,
		}, {
			"calls of all other kinds",
			func(t *testing.T, link string) {
				for key, workflow := range map[string]string{
					"s/prod/charge-42/act-run-1/Charge": "", "sd/prod/charge-42/act-run-1/Charge/i": "", "b/i/Charge/i": "order-42",
					"w/i/i/0/Charge/1": "order-42", "il:w/i/i/0/Charge/1": "order-42", "i:b/i/Charge/i": "order-42",
				} {
					keyed(key, workflow)(t, link)
				}
			},
			doctor.Options{}, nil,
		}, {
			"a large table", func(*testing.T, string) {},
			doctor.Options{MaxBytes: 1}, map[string]string{"size": `takes 8.0 KiB and its indexes`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			link := requireSound(t)
			tc.make(t, link)
			tc.options.DatabaseURL = link
			requireFindings(t, examine(t, tc.options), tc.want)
		})
	}
}

func TestDeadRows(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	requireRecord(t, link, "k", store.Reexecute)
	// Autovacuum would clear the rows away before they are seen.
	conn := requireConn(t, link)
	for _, statement := range []string{
		`ALTER TABLE idempotency_records SET (autovacuum_enabled = off)`,
		`CREATE TEMPORARY TABLE one AS SELECT * FROM idempotency_records`,
		`INSERT INTO idempotency_records SELECT (jsonb_populate_record(o, jsonb_build_object('key', 'k' || n))).* FROM one o, generate_series(1, 55000) n`,
		`DELETE FROM idempotency_records WHERE key <> 'k'`,
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, conn.Close(t.Context())) // which sends the session's counts
	eventually(t, doctor.Options{DatabaseURL: link}, "dead-rows", doctor.Warning)
	requireFindings(t, examine(t, doctor.Options{DatabaseURL: link}), map[string]string{
		"autovacuum": "autovacuum_enabled is off", "dead-rows": "dead rows beside",
	})
	execute(t, link, `VACUUM idempotency_records`)
	eventually(t, doctor.Options{DatabaseURL: link}, "dead-rows", doctor.OK)
}

// Each page of the table holds such a record, so that a half of it is enough.
func TestLargeTablesAreSampled(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	requireRecord(t, link, "k", store.Reexecute)
	execute(t, link, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', 'k' || n,
			'updated_at', now() - interval '3h', 'lease_expires_at', now() - interval '2h'))).*
		FROM idempotency_records r, generate_series(1, 2000) n`)
	conn := requireConn(t, link)
	var size int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_relation_size('idempotency_records')`).Scan(&size))
	report := examine(t, doctor.Options{DatabaseURL: link, SampleBytes: size / 2})
	requireFindings(t, report, map[string]string{"stuck": "(in a sample of 50 % of the table)"})
	report = examine(t, doctor.Options{DatabaseURL: link, SampleBytes: size})
	requireFindings(t, report, map[string]string{"stuck": "2000 records are in progress"})
}

// The doctor and the store must mean the same records.
func TestExpiredIsWhatAnEvictionTakes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change string
		policy store.TakeoverPolicy
	}{
		"completed":                {`status = 'completed'`, store.Reexecute},
		"completed under Refuse":   {`status = 'completed', effect_possible = false`, store.Refuse},
		"failed under Verify":      {`status = 'failed'`, store.Verify},
		"abandoned":                {`lease_expires_at = 'epoch'`, store.Reexecute},
		"abandoned under Refuse":   {`lease_expires_at = 'epoch'`, store.Refuse},
		"live":                     {`lease_expires_at = now() + interval '1h'`, store.Reexecute},
		"pending":                  {`pending = true, lease_expires_at = 'epoch'`, store.Reexecute},
		"held":                     {`held_since = now(), lease_expires_at = 'epoch'`, store.Reexecute},
		"completed and kept still": {`status = 'completed', created_at = created_at`, store.Reexecute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := requireSound(t)
			requireRecord(t, link, "k", tc.policy)
			expires := `now() - interval '1h'`
			if strings.Contains(name, "kept") {
				expires = `now() + interval '1h'`
			}
			execute(t, link, `UPDATE idempotency_records SET expires_at = `+expires+`, `+tc.change)
			found := result(t, examine(t, doctor.Options{DatabaseURL: link, MaxSweepAge: time.Minute}), "expired").Status == doctor.Warning
			n, err := requireStore(t, link).Evict(t.Context(), 10)
			require.NoError(t, err)
			require.Equal(t, n == 1, found)
		})
	}
}
