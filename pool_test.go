package dedupe_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// requirePostgres returns a pool of some connections, and a store on it.
func requirePostgres(t *testing.T, connections int32) (*pgxpool.Pool, *pgstore.Store) {
	t.Helper()
	url := localpgtest.RequireDatabase(t)
	_, err := migrations.Up(t.Context(), url, migrations.Options{})
	require.NoError(t, err)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return pool, s
}

func TestPool(t *testing.T) {
	t.Parallel()

	t.Run("bodies that hold every connection of the pool keep their leases and settle", func(t *testing.T) {
		t.Parallel()
		pool, s := requirePostgres(t, 4)
		b := setup(t)
		b.store = s
		c := b.client(b.plugin())
		var bodies atomic.Int32
		var holding sync.WaitGroup
		holding.Add(4)
		b.work(c, b.queue, func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(callWith(workflow.ActivityOptions{StartToCloseTimeout: 12 * time.Second}, ""), workflow.RegisterOptions{Name: "call"})
			register(r, "Work", func(ctx context.Context) (string, error) {
				bodies.Add(1)
				tx, err := pool.Begin(ctx)
				if err != nil {
					return "", err
				}
				defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
				holding.Done()
				holding.Wait()
				// Longer than a lease of six seconds, with no connection left.
				<-time.After(8 * time.Second)
				return "held", ctx.Err()
			})
		})
		for n := range 4 {
			run := b.start(c, b.queue+string(rune('a'+n)), "call")
			defer func() { require.NoError(t, run.Get(t.Context(), nil)) }()
		}
		holding.Wait()
		t.Cleanup(func() { require.EqualValues(t, 4, bodies.Load()) })
	})

	t.Run("a thousand cancelled activities leave the pool as it was", func(t *testing.T) {
		t.Parallel()
		pool, s := requirePostgres(t, 4)
		i, err := dedupe.NewInterceptor(dedupe.Options{
			Store: s, Policies: dedupe.Policies{dedupe.AnyActivity: {}}, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		var all sync.WaitGroup
		slots := make(chan struct{}, 50)
		for range 1000 {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(quiet)
				env := suite.NewTestActivityEnvironment()
				env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{i}})
				env.RegisterActivityWithOptions(func(ctx context.Context) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}, sdkactivity.RegisterOptions{Name: "Work"})
				_, err := env.ExecuteActivity("Work")
				require.ErrorContains(t, err, "canceled")
			})
		}
		all.Wait()
		require.NoError(t, i.Drain(t.Context()))
		require.Zero(t, pool.Stat().AcquiredConns())
		require.NoError(t, pool.Ping(t.Context()))
		var released int
		require.NoError(t, pool.QueryRow(t.Context(),
			"SELECT count(*) FROM idempotency_records WHERE status = 'in_progress' AND lease_expires_at <= clock_timestamp()").Scan(&released))
		require.Equal(t, 1000, released)
	})
}
