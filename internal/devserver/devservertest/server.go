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

// StopAfter returns an M that runs the tests and then stops the shared server; see
// [childtest.StopAfter].
func StopAfter(m childtest.M) childtest.M {
	return childtest.StopAfter(m, func() error {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.server != nil {
			shared.server.Stop()
			shared.server = nil
		}
		return nil
	})
}
