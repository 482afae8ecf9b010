package localpgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

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

// M is the part of *testing.M that TestMain needs.
type M interface {
	// Run runs the tests and returns the exit code.
	Run() int
}

// StopAfter returns an M that runs the tests and then stops the shared cluster,
// so that its goroutines are gone before goleak looks:
//
//	func TestMain(m *testing.M) {
//		goleak.VerifyTestMain(localpgtest.StopAfter(m))
//	}
func StopAfter(m M) M { return stopAfter{m} }

type stopAfter struct{ m M }

func (s stopAfter) Run() int {
	code := s.m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil {
		return code
	}
	if err := shared.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	shared.cluster = nil
	return code
}
