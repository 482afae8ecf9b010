package crashtest_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

func TestAClockThatIsWrongChangesNothing(t *testing.T) {
	t.Parallel()
	library := requireFile(t, "libfaketime (package faketime)",
		"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1")
	shifted := func(by string) []string {
		return []string{"LD_PRELOAD=" + library, "FAKETIME=" + by, "FAKETIME_DONT_FAKE_MONOTONIC=1"}
	}
	cluster := requireCluster(t, localpg.Options{Env: shifted("+10m")})
	for _, tc := range []struct {
		name, by string
		want     time.Duration
	}{
		{"ten minutes fast", "+10m", 10 * time.Minute},
		{"ten minutes slow", "-10m", -10 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, cluster.Restart(t.Context(), shifted(tc.by)...))
			now := query[time.Time](t, cluster.URL(), "SELECT clock_timestamp()")
			require.InDelta(t, tc.want.Seconds(), time.Until(now).Seconds(), 60)

			requireEviction(t, cluster.URL())
			server := devservertest.RequireServer(t)
			r, err := crashtest.Run(t.Context(), crashtest.Options{
				DatabaseURL: cluster.URL(), TemporalAddress: server.Address(), Namespace: server.Namespace(),
				Windows: []crashtest.Window{crashtest.BeforeRecord}, Keys: []crashtest.Keys{crashtest.HonoursKeys},
			})
			require.NoError(t, err)
			require.True(t, r.OK(), "%s", r)
			require.Equal(t, 3, r.Total().Kills)
			require.Less(t, r.Elapsed, 30*time.Second, "takeovers happen when leases end, not ten minutes later")
		})
	}
}

// requireEviction fails the test unless a record goes when its retention is
// over, and not before.
func requireEviction(t *testing.T, url string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	records, err := pgstore.New(t.Context(), pool, pgstore.Options{})
	require.NoError(t, err)
	defer records.Close()

	const retention = 2 * time.Second
	begun := time.Now()
	found, err := records.Reserve(t.Context(), []store.Reservation{{
		Key: "clock", Hashes: []string{"v1:s1:aaaa"}, Token: store.NewToken(),
		Lease: time.Second, Retention: retention, Policy: store.Reexecute,
	}})
	require.NoError(t, err)
	require.True(t, found[0].Inserted)
	require.Eventually(t, func() bool {
		n, err := records.Evict(t.Context(), 10)
		return err == nil && n == 1
	}, 30*time.Second, 50*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(begun), retention)
}
