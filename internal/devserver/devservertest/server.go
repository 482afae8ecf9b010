package devservertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

// shared is the server of this process.
var shared struct {
	mu     sync.Mutex
	server *devserver.Server
	err    error
}

// RequireServer returns the Temporal server of this test process. If there is
// none to be had, the test is skipped, or fails when CI is "true" or
// DEDUPE_REQUIRE_SERVICES is "1"; a server that is there but does not work fails it.
func RequireServer(t testing.TB) *devserver.Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil {
		// Not t.Context(): the server outlives the test that came first.
		shared.server, shared.err = devserver.Start(context.Background(), devserver.Options{})
	}
	if errors.Is(shared.err, devserver.ErrUnavailable) {
		childtest.SkipOrFail(t, shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// M is the part of *testing.M that TestMain needs.
type M interface {
	// Run runs the tests and returns the exit code.
	Run() int
}

// StopAfter returns an M that runs the tests and then stops the shared server,
// so that its goroutines are gone before goleak looks:
//
//	func TestMain(m *testing.M) {
//		goleak.VerifyTestMain(devservertest.StopAfter(m))
//	}
func StopAfter(m M) M { return stopAfter{m} }

type stopAfter struct{ m M }

func (s stopAfter) Run() int {
	code := s.m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.Stop()
		shared.server = nil
	}
	return code
}
