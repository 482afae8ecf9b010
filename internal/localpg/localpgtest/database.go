package localpgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

// DatabaseURLVar is the environment variable that names a Postgres server for
// tests to create databases on. Unset, tests start a server of their own.
const DatabaseURLVar = "DEDUPE_TEST_DATABASE_URL"

// timeout bounds creating or dropping a database on a busy machine.
const timeout = time.Minute

// RequireDatabase returns the URL of an empty database that no other test uses.
// Without Postgres on this machine the test is skipped, or fails when CI is
// "true" or DEDUPE_REQUIRE_SERVICES is "1"; any other trouble fails it.
func RequireDatabase(t testing.TB) string {
	t.Helper()
	if server := os.Getenv(DatabaseURLVar); server != "" {
		return requireDatabaseOn(t, server)
	}
	c := requireShared(t)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	url, err := c.Database(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// requireDatabaseOn creates a database on a server that outlives the test, and
// drops it afterwards.
func requireDatabaseOn(t testing.TB, server string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	url, err := localpg.CreateDatabase(ctx, server, "")
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", DatabaseURLVar, err))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := localpg.DropDatabase(ctx, server, url); err != nil {
			t.Error(fmt.Errorf("%s: %w", DatabaseURLVar, err))
		}
	})
	return url
}

// RequireCluster returns a cluster that the test has for itself, to be killed,
// restarted or have its clock shifted, and that is stopped after the test. It
// skips and fails as RequireDatabase does.
func RequireCluster(t testing.TB, o localpg.Options) *localpg.Cluster {
	t.Helper()
	c, err := localpg.Start(t.Context(), o)
	requireStarted(t, err)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func requireStarted(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, localpg.ErrNoPostgres) {
		childtest.SkipOrFail(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
