package localpgtest

import (
	"context"
	"sync"
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

// sharedSettings spare the shared cluster the disk: no test can crash it, and it
// is removed afterwards. Creating a database takes 50 ms instead of 500 on a busy
// machine. A cluster from RequireCluster keeps the defaults.
var sharedSettings = map[string]string{"fsync": "off", "full_page_writes": "off"}

// shared is the cluster of this process.
var shared struct {
	mu      sync.Mutex
	cluster *localpg.Cluster
	err     error
}

func requireShared(t testing.TB) *localpg.Cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil && shared.err == nil {
		// Not t.Context(): the cluster outlives the test that came first.
		shared.cluster, shared.err = localpg.Start(context.Background(), localpg.Options{Settings: sharedSettings})
	}
	requireStarted(t, shared.err)
	return shared.cluster
}

// StopAfter returns an M that runs the tests and then stops the shared cluster; see
// [childtest.StopAfter].
func StopAfter(m childtest.M) childtest.M {
	return childtest.StopAfter(m, func() error {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		c := shared.cluster
		if shared.cluster = nil; c == nil {
			return nil
		}
		return c.Stop()
	})
}
