package crashtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

func TestADatabaseThatCrashesUnderLoadChargesNobodyTwice(t *testing.T) {
	t.Parallel()
	cluster := requireCluster(t, localpg.Options{})
	bench := requireBench(t)
	var lanes []*crashtest.Lane
	for _, policy := range policies {
		lanes = append(lanes, open(t, bench, crashtest.LaneOptions{
			DatabaseURL: cluster.URL(), Policy: policy, Orders: 40, Pace: 100 * time.Millisecond,
		}))
	}
	accounts := pay(t, cluster.URL(), func() {
		for _, lane := range lanes {
			requireStarted(t, lane, 1)
		}
		for _, place := range []int{5, 15} {
			requireBegun(t, lanes[0], place)
			crash(t, cluster, 500*time.Millisecond)
		}
	}, lanes...)
	for _, orders := range accounts {
		requireOnce(t, orders)
	}
}

func TestABodyOutlivesAnOutageLongerThanItsLease(t *testing.T) {
	t.Parallel()
	cluster := requireCluster(t, localpg.Options{})
	bench := requireBench(t)
	var lanes []*crashtest.Lane
	for _, policy := range policies {
		lanes = append(lanes, open(t, bench, crashtest.LaneOptions{
			DatabaseURL: cluster.URL(), Policy: policy, Orders: 2, Workers: 2, Stall: 9 * time.Second,
		}))
	}
	accounts := pay(t, cluster.URL(), func() {
		for _, lane := range lanes {
			requireStarted(t, lane, 2)
			requireBegun(t, lane, 0)
		}
		crash(t, cluster, 5*time.Second) // a lease is 3 s
	}, lanes...)
	for i, orders := range accounts {
		t.Run("under "+string(policies[i]), func(t *testing.T) { requireOnce(t, orders) })
	}
}

// crash stops the database as a crash does and starts it again after a while.
func crash(t *testing.T, cluster *localpg.Cluster, outage time.Duration) {
	t.Helper()
	cluster.Kill()
	<-time.After(outage)
	require.NoError(t, cluster.Restart(t.Context()))
}
