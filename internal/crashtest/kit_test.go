package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// policies are all of them.
var policies = []store.TakeoverPolicy{store.Reexecute, store.Refuse, store.Verify}

// requireBench returns a bench on the tests' Temporal server.
func requireBench(t *testing.T) *crashtest.Bench {
	t.Helper()
	server := devservertest.RequireServer(t)
	b, err := crashtest.NewBench(t.Context(), server.Address(), server.Namespace())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// requireRecords returns the URL of a database of the shared cluster, with the
// tables.
func requireRecords(t *testing.T) string {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	requireMigrated(t, url)
	return url
}

// requireCluster returns a cluster of the test's own, with the tables.
func requireCluster(t *testing.T, o localpg.Options) *localpg.Cluster {
	t.Helper()
	c := localpgtest.RequireCluster(t, o)
	requireMigrated(t, c.URL())
	return c
}

func requireMigrated(t *testing.T, url string) {
	t.Helper()
	_, err := migrations.Up(t.Context(), url, migrations.Options{})
	require.NoError(t, err)
}

// requireFile returns the path of the first file that a pattern finds.
func requireFile(t *testing.T, what string, patterns ...string) string {
	t.Helper()
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	childtest.SkipOrFail(t, fmt.Errorf("%s is not installed", what))
	return ""
}

// open opens a lane.
func open(t *testing.T, b *crashtest.Bench, o crashtest.LaneOptions) *crashtest.Lane {
	t.Helper()
	lane, err := b.OpenLane(o)
	require.NoError(t, err)
	return lane
}

// pay pays the orders of lanes side by side, stops their workers and returns the
// accounts of each, with the records of a database. meanwhile runs beside it.
func pay(t *testing.T, records string, meanwhile func(), lanes ...*crashtest.Lane) [][]crashtest.Account {
	t.Helper()
	faults := make([]error, len(lanes))
	var wait sync.WaitGroup
	for i, lane := range lanes {
		wait.Go(func() {
			err := lane.Pay(t.Context())
			faults[i] = errors.Join(lane.Close(t.Context()), err)
		})
	}
	if meanwhile != nil {
		meanwhile()
	}
	wait.Wait()
	require.NoError(t, errors.Join(faults...))
	accounts := make([][]crashtest.Account, len(lanes))
	for i, lane := range lanes {
		var err error
		accounts[i], err = lane.Accounts(t.Context(), records)
		require.NoError(t, err)
	}
	return accounts
}

// requireStarted waits until a lane has so many workers.
func requireStarted(t *testing.T, lane *crashtest.Lane, workers int) {
	t.Helper()
	require.Eventually(t, func() bool { return lane.Started() >= workers }, 30*time.Second, 10*time.Millisecond)
}

// requireBegun waits until an order has begun its body.
func requireBegun(t *testing.T, lane *crashtest.Lane, place int) {
	t.Helper()
	require.Eventually(t, func() bool { return lane.Begun(place) > 0 }, 30*time.Second, 10*time.Millisecond)
}

// requireOnce fails the test unless every order ran one body and was charged
// once, and the record and the workflow say so.
func requireOnce(t *testing.T, accounts []crashtest.Account) {
	t.Helper()
	for _, a := range accounts {
		require.NoError(t, a.Err, "%+v", a)
		require.Equal(t, 1, a.Bodies, "%+v", a)
		require.Equal(t, []string{a.ChargeID}, a.Charges, "%+v", a)
		require.Len(t, a.Records, 1, "%+v", a)
		require.Equal(t, store.StatusCompleted, a.Records[0].Status, "%+v", a)
		require.Equal(t, a.ChargeID, a.Records[0].ChargeID, "%+v", a)
	}
}

// requireKept fails the test unless the cell's promises were kept to the orders
// of a lane whose worker was killed.
func requireKept(t *testing.T, c crashtest.Cell, accounts []crashtest.Account) {
	t.Helper()
	c.Add(accounts)
	require.Empty(t, c.Broken)
	require.Zero(t, c.Lost)
	require.Zero(t, c.Duplicates)
}

// attempts returns how many attempts Temporal made at an order's activity.
func attempts(t *testing.T, order string) int {
	t.Helper()
	server := devservertest.RequireServer(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Namespace: server.Namespace()})
	require.NoError(t, err)
	defer c.Close()
	events := c.GetWorkflowHistory(t.Context(), order, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if started := e.GetActivityTaskStartedEventAttributes(); started != nil {
			return int(started.GetAttempt())
		}
	}
	return 0
}

// query reads one value from a database.
func query[T any](t *testing.T, url, sql string) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}
