package doctor_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// with adds a parameter to a URL.
func with(t testing.TB, link, name, value string) string {
	t.Helper()
	u, err := url.Parse(link)
	require.NoError(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func TestADatabaseThatCannotBeReached(t *testing.T) {
	t.Parallel()
	report := examine(t, doctor.Options{DatabaseURL: "postgres://me:s3cret@127.0.0.1:1/x", Temporal: doctor.Temporal{Address: "127.0.0.1:1"}})
	requireFindings(t, report, map[string]string{"database": "connection refused", "temporal": "127.0.0.1:1 does not answer"})
	require.NotContains(t, result(t, report, "database").Findings[0], "s3cret")
	require.Equal(t, doctor.Skipped, result(t, report, "schema").Status)
	require.Equal(t, doctor.Skipped, result(t, report, "leases").Status)
	require.True(t, report.Failed(false))
}

func TestADatabaseThatIsSilent(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	report := examine(t, doctor.Options{DatabaseURL: "postgres://me:s3cret@" + silent.Addr().String() + "/x", Timeout: 300 * time.Millisecond})
	requireFindings(t, report, map[string]string{"database": "no answer from " + silent.Addr().String() + " within 300ms"})
}

func TestADatabaseThatIsLocked(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	conn := requireConn(t, link)
	_, err := conn.Exec(t.Context(), `BEGIN; LOCK TABLE idempotency_records IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	report := examine(t, doctor.Options{DatabaseURL: link})
	for _, check := range []string{"leases", "stuck", "unknown-outcomes", "expired", "sweep"} {
		r := result(t, report, check)
		require.Equal(t, doctor.Unknown, r.Status, check)
		require.Contains(t, r.Findings[0], "canceling statement due to lock timeout", check)
		require.Contains(t, r.Remedy, "run the doctor again; if somebody still holds the lock", check)
	}
	for _, check := range []string{"database", "schema", "fsync", "clock", "autovacuum"} {
		require.Equal(t, doctor.OK, result(t, report, check).Status, "one check that fails hides no other")
	}
	require.True(t, report.Failed(false), "nobody knows")
}

func TestACheckThatTakesTooLong(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	// Every look at the version sleeps.
	execute(t, link, `ALTER TABLE idempotency_schema RENAME TO versions;
		CREATE VIEW idempotency_schema AS SELECT v.* FROM versions v, pg_sleep(60) s`)
	report := examine(t, doctor.Options{DatabaseURL: link, Timeout: 6 * time.Second})
	r := result(t, report, "schema")
	require.Equal(t, doctor.Unknown, r.Status)
	require.Contains(t, r.Remedy, "run the doctor again, with a longer --timeout")
	require.Equal(t, doctor.OK, result(t, report, "leases").Status, "the connection is replaced")
	conn := requireConn(t, link)
	require.Eventually(t, func() bool {
		running := -1
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'dedupe-doctor'`).Scan(&running)
		return err == nil && running == 0
	}, 30*time.Second, 50*time.Millisecond, "the server goes on with a statement that nobody waits for")
}

func TestStandbys(t *testing.T) {
	t.Parallel()
	cluster := localpgtest.RequireCluster(t, localpg.Options{})
	link := requireTables(t, cluster)
	requireFindings(t, examine(t, doctor.Options{DatabaseURL: link}), nil)

	standby := localpgtest.RequireStandby(t, link)
	eventually(t, doctor.Options{DatabaseURL: link}, "replication", doctor.Warning)
	requireFindings(t, examine(t, doctor.Options{DatabaseURL: link}), map[string]string{
		"replication": "no standby is synchronous (standby)",
	})
	report := examine(t, doctor.Options{DatabaseURL: standby})
	requireFindings(t, report, map[string]string{"primary": "the server is a standby"})

	t.Run("a role that may not see how they replicate says so", func(t *testing.T) {
		execute(t, link, `CREATE ROLE blind; GRANT USAGE ON SCHEMA public TO blind;
			GRANT ALL ON ALL TABLES IN SCHEMA public TO blind`)
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "role", "blind")}), map[string]string{
			"replication": "there are 1 standbys whose mode this role may not see",
		})
	})

	t.Run("a synchronous one loses nothing", func(t *testing.T) {
		execute(t, link, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
		execute(t, link, `SELECT pg_reload_conf()`)
		eventually(t, doctor.Options{DatabaseURL: link}, "replication", doctor.OK)
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: link}), nil)
	})

	t.Run("unless commits do not wait for it", func(t *testing.T) {
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "synchronous_commit", "local")}), map[string]string{
			"synchronous-commit": "synchronous_commit is local",
		})
	})
}

func TestPoolers(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	pooled := localpgtest.RequirePgBouncer(t, link, "pool_mode = transaction\nignore_startup_parameters = extra_float_digits")

	t.Run("an exec mode that does not work behind one is found", func(t *testing.T) {
		t.Parallel()
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, pooled, "default_query_exec_mode", "describe_exec")}), map[string]string{
			"pooler": "the query exec mode describe exec does not work behind the transaction pooler at 127.0.0.1:",
		})
	})
	t.Run("one that works is not, and all else is looked at through it", func(t *testing.T) {
		t.Parallel()
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, pooled, "default_query_exec_mode", "cache_describe")}), nil)
	})
	t.Run("a pooler that refuses the URL's parameters is a database that cannot be reached", func(t *testing.T) {
		t.Parallel()
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, pooled, "synchronous_commit", "on")}), map[string]string{
			"database": "unsupported startup parameter",
		})
	})
}

func TestAServerThatDoesNotWrite(t *testing.T) {
	t.Parallel()
	cluster := localpgtest.RequireCluster(t, localpg.Options{Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "autovacuum": "off",
	}})
	report := examine(t, doctor.Options{DatabaseURL: requireTables(t, cluster)})
	requireFindings(t, report, map[string]string{"fsync": "fsync is off", "autovacuum": "autovacuum is off on the server"})
	require.Equal(t, []string{"fsync is off", "full_page_writes is off"}, result(t, report, "fsync").Findings)
}

func TestChecksThatAreSkipped(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	execute(t, link, `ALTER TABLE idempotency_records RENAME TO gone`)
	o := doctor.Options{DatabaseURL: with(t, link, "synchronous_commit", "off"), Skip: []string{"synchronous-commit"}}
	report := examine(t, o)
	requireFindings(t, report, map[string]string{"schema": "there is no table"})
	require.Equal(t, doctor.Skipped, result(t, report, "synchronous-commit").Status)
	require.Equal(t, doctor.OK, result(t, report, "fsync").Status)

	o.Skip = append(o.Skip, "schema")
	report = examine(t, o)
	requireFindings(t, report, nil)
	require.Equal(t, doctor.Skipped, result(t, report, "leases").Status, "nobody has looked for the tables")
}

// clockSchema is a schema with a clock of its own, which runs, and is shifted.
const clockSchema = `
CREATE SCHEMA clock;
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
$$ SELECT pg_catalog.clock_timestamp() + interval '%' $$`

func TestClocks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, by, want string }{
		{"ahead", "8s", "ahead of this machine's"},
		{"behind", "-8s", "behind this machine's"},
		{"a little ahead", "200ms", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			link := requireSound(t)
			execute(t, link, strings.ReplaceAll(clockSchema, "%", tc.by))
			want := map[string]string{}
			if tc.want != "" {
				want["clock"] = tc.want
			}
			requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "search_path", "clock,pg_catalog,public")}), want)
		})
	}
}

func TestTransactionsThatStayOpen(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	execute(t, link, strings.ReplaceAll(clockSchema, "%", "2h"))
	conn := requireConn(t, with(t, link, "application_name", "forgetful"))
	_, err := conn.Exec(t.Context(), `BEGIN; SELECT 1`)
	require.NoError(t, err)
	o := doctor.Options{DatabaseURL: with(t, link, "search_path", "clock,pg_catalog,public"), MaxClockDifference: 3 * time.Hour}
	report := examine(t, o)
	requireFindings(t, report, map[string]string{"long-transactions": "(forgetful, idle in transaction) has had a transaction open since"})
	_, err = conn.Exec(t.Context(), `ROLLBACK`)
	require.NoError(t, err)
	requireFindings(t, examine(t, o), nil)
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	role := "reader_" + strings.Trim(database(t, link), `"`)
	execute(t, link, `CREATE ROLE `+role+`; GRANT USAGE ON SCHEMA public TO `+role+`;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+role+`; GRANT INSERT ON idempotency_records TO `+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), link)
		require.NoError(t, err)
		_, err = conn.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
		require.NoError(t, conn.Close(context.Background()))
	})
	report := examine(t, doctor.Options{DatabaseURL: with(t, link, "role", role)})
	requireFindings(t, report, map[string]string{"privileges": "the role lacks", "operator-privileges": "the role lacks"})
	require.Equal(t, []string{
		`the role lacks DELETE on "public"."idempotency_records"`, `the role lacks UPDATE on "public"."idempotency_records"`,
		`the role lacks INSERT on "public"."idempotency_maintenance"`, `the role lacks UPDATE on "public"."idempotency_maintenance"`,
		`the role lacks INSERT on "public"."idempotency_server"`,
	}, result(t, report, "privileges").Findings)
	require.Equal(t, []string{`the role lacks INSERT on "public"."idempotency_audit"`}, result(t, report, "operator-privileges").Findings)

	execute(t, link, `GRANT ALL ON ALL TABLES IN SCHEMA public TO `+role+`; ALTER TABLE idempotency_records ENABLE ROW LEVEL SECURITY`)
	require.Equal(t, []string{`row security keeps the role from rows of "public"."idempotency_records": ALTER TABLE "public"."idempotency_records" ` +
		`DISABLE ROW LEVEL SECURITY, or CREATE POLICY … ON "public"."idempotency_records" TO the role USING (true) WITH CHECK (true)`},
		result(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "role", role)}), "privileges").Findings)
	execute(t, link, `CREATE POLICY workers ON idempotency_records USING (true)`)
	requireFindings(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "role", role)}), nil)

	execute(t, link, `REVOKE SELECT ON idempotency_records FROM `+role)
	r := result(t, examine(t, doctor.Options{DatabaseURL: with(t, link, "role", role)}), "leases")
	require.Equal(t, doctor.Unknown, r.Status)
	require.Contains(t, r.Remedy, "GRANT SELECT on what the check reads")
}

func TestTablesInANamedSchema(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	const schema = `Odd "name" {records}`
	_, err := migrations.Up(t.Context(), link, migrations.Options{Schema: schema})
	require.NoError(t, err)
	execute(t, link, `DROP TABLE public.idempotency_records`)
	requireFindings(t, examine(t, doctor.Options{DatabaseURL: link, Schema: schema}), nil)

	report := examine(t, doctor.Options{DatabaseURL: link, Schema: "Elsewhere"})
	require.Contains(t, result(t, report, "schema").Remedy, "run `dedupe migrate up --schema Elsewhere`; if it has nothing to do, give psql what `dedupe migrate print --schema Elsewhere` prints")
}
