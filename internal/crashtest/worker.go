package crashtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// WorkerMain makes this process a worker if it was started as one by [Run] or a
// [Lane], and tells whether that was so. A program that uses them calls it first
// in main, and a test binary first in TestMain, before flags are parsed; both
// return at once if it was. A worker that cannot work says why on its standard
// error, which the parent reports.
func WorkerMain() (handled bool) {
	p, found, err := planFromEnvironment()
	if !found {
		return false
	}
	if err == nil {
		err = work(p)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	return true
}

// work runs a worker until it is asked to stop, or dies.
func work(p plan) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	slog.SetDefault(logger)
	s := newShop(p)
	wire := &mortalWire{plan: p, die: s.die}
	options := client.Options{
		HostPort: p.TemporalAddress, Namespace: p.Namespace, Logger: log.NewStructuredLogger(logger),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(wire.intercept)}},
	}
	if p.DatabaseURL != "" {
		closeStore, err := protect(ctx, &options, p, s)
		if err != nil {
			return err
		}
		defer closeStore()
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("crashtest: worker: %w", err)
	}
	defer c.Close()
	// Workflow tasks that wait for a dead worker's cache would only cost time.
	worker.SetStickyWorkflowCacheSize(0)
	w := worker.New(c, p.TaskQueue, worker.Options{WorkerStopTimeout: 5 * time.Second})
	w.RegisterWorkflow(PayOrder)
	w.RegisterActivityWithOptions(s.ChargePayment, sdkactivity.RegisterOptions{Name: activityType})
	if err := w.Start(); err != nil {
		return fmt.Errorf("crashtest: worker: %w", err)
	}
	defer w.Stop()
	if _, err := s.ask(ctx, http.MethodPost, "/workers", p.TaskQueue, "", nil); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// protect adds the deduplication to a client, as a user does, but with a store
// that the worker does not always survive.
func protect(ctx context.Context, options *client.Options, p plan, s *shop) (closeStore func(), err error) {
	records, closeStore, err := openRecords(ctx, p.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("crashtest: worker: %w", err)
	}
	policy := dedupe.Policy{Takeover: p.Policy}
	if p.Policy == dedupe.Verify {
		policy.Verify = s.verify
	}
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store:    &mortalStore{Store: records, plan: p, die: s.die},
		Policies: dedupe.Policies{activityType: policy},
	})
	if err != nil {
		closeStore()
		return nil, fmt.Errorf("crashtest: worker: %w", err)
	}
	options.Plugins = append(options.Plugins, plugin)
	return closeStore, nil
}

// openRecords opens the store that the URL leads to.
func openRecords(ctx context.Context, databaseURL string) (dedupe.Store, func(), error) {
	if inRedis(databaseURL) {
		return openRedis(ctx, databaseURL)
	}
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return nil, nil, err
	}
	records, err := pgstore.New(ctx, pool, pgstore.Options{})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return records, func() { records.Close(); pool.Close() }, nil
}
