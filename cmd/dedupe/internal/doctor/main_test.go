package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(stopSound{devservertest.StopAfter(m)}) }

// sound is a cluster with Postgres's own settings, which the shared one of other
// tests does not have: a doctor would find that its fsync is off.
var sound struct {
	mu      sync.Mutex
	cluster *localpg.Cluster
	err     error
}

type stopSound struct{ childtest.M }

// Run runs the tests and stops the cluster.
func (s stopSound) Run() int {
	code := s.M.Run()
	if sound.cluster == nil {
		return code
	}
	if err := sound.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// requireSound returns the URL of a new database with the tables on that cluster.
func requireSound(t testing.TB) string {
	t.Helper()
	sound.mu.Lock()
	defer sound.mu.Unlock()
	if sound.cluster == nil && sound.err == nil {
		sound.cluster, sound.err = localpg.Start(context.Background(), localpg.Options{
			Settings: map[string]string{"max_prepared_transactions": "5"},
		})
	}
	if errors.Is(sound.err, localpg.ErrNoPostgres) {
		childtest.SkipOrFail(t, sound.err)
	}
	require.NoError(t, sound.err)
	return requireTables(t, sound.cluster)
}

// requireTables returns the URL of a new database with the tables.
func requireTables(t testing.TB, c *localpg.Cluster) string {
	t.Helper()
	link, err := c.Database(t.Context(), "")
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), link, migrations.Options{})
	require.NoError(t, err)
	return link
}

// requireConn opens a connection that is closed after the test.
func requireConn(t testing.TB, link string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), link)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// execute runs statements on a connection of their own.
func execute(t testing.TB, link, statements string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), link)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statements, args...)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

// requireStore opens a store that is closed after the test.
func requireStore(t testing.TB, link string) *pgstore.Store {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), link)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// requireRecord reserves a record, for the test to change by SQL.
func requireRecord(t testing.TB, link, key string, policy store.TakeoverPolicy) store.Reservation {
	t.Helper()
	r := store.Reservation{
		Key: key, Hashes: []string{"v1:s1:aaaa"}, Token: store.NewToken(),
		Lease: time.Minute, Retention: 7 * 24 * time.Hour, Policy: policy,
		Origin: store.Origin{Lineage: "run-1", ActivityType: "Charge"},
	}
	found, err := requireStore(t, link).Reserve(t.Context(), []store.Reservation{r})
	require.NoError(t, err)
	require.True(t, found[0].Inserted)
	return r
}

// examine runs the doctor; its checks get all the time that a busy machine needs.
func examine(t testing.TB, o doctor.Options) doctor.Report {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	report, err := doctor.Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, report.Results, len(doctor.Checks()))
	return report
}

// eventually examines until a check ends as it should: statistics, settings and
// standbys arrive late.
func eventually(t testing.TB, o doctor.Options, check string, status doctor.Status) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		r := result(t, examine(t, o), check)
		if r.Status == status {
			return
		}
		select {
		case <-deadline:
			require.Failf(t, "still not so", "%s is %s: %v", check, r.Status, r.Findings)
		case <-tick.C:
		}
	}
}

// result returns what came of one check.
func result(t testing.TB, report doctor.Report, check string) doctor.Result {
	t.Helper()
	for _, r := range report.Results {
		if r.Check == check {
			return r
		}
	}
	require.Failf(t, "no such check", "%s", check)
	return doctor.Result{}
}

var namedSchema = regexp.MustCompile(" --schema [^`]*`")

// requireFindings requires that exactly the named checks found something, with
// the named text, and as severely as they declare.
func requireFindings(t testing.TB, report doctor.Report, want map[string]string) {
	t.Helper()
	for _, c := range doctor.Checks() {
		r := result(t, report, c.Name)
		text, wanted := want[c.Name]
		if !wanted {
			require.Contains(t, []doctor.Status{doctor.OK, doctor.Skipped}, r.Status, "%s: %v", c.Name, r.Findings)
			require.Empty(t, r.Remedy, c.Name)
			continue
		}
		require.Equal(t, string(c.Severity), string(r.Status), "%s: %v", c.Name, r.Findings)
		require.Contains(t, fmt.Sprint(r.Findings), text)
		require.Equal(t, c.Remedy, namedSchema.ReplaceAllString(r.Remedy, "`"), "but for the schema that was given")
	}
	for name := range want {
		result(t, report, name)
	}
}
