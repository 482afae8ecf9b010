package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// startWorker connects to Postgres and Temporal and starts a worker, which stop
// ends. reaper is what kills it; nil kills nobody.
func startWorker(ctx context.Context, p plan, faults Faults, reaper *reaper) (stop func(), err error) {
	config, err := pgxpool.ParseConfig(p.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("ledger: database: %w", err)
	}
	if reaper != nil {
		config.ConnConfig.Tracer = reaper
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("ledger: database: %w", err)
	}
	stops := []func(){pool.Close}
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	options := client.Options{
		HostPort: p.TemporalAddress, Namespace: p.Namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if reaper != nil {
		options.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(reaper.onTheWire)}
	}
	if p.Dedupe {
		records, err := pgstore.New(ctx, pool, pgstore.Options{})
		if err != nil {
			stop()
			return nil, fmt.Errorf("ledger: %w", err)
		}
		stops = append(stops, records.Close)
		if err := protect(&options, reaper.guard(records)); err != nil {
			stop()
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		stop()
		return nil, fmt.Errorf("ledger: Temporal at %s: %w", p.TemporalAddress, err)
	}
	stops = append(stops, c.Close)
	w := worker.New(c, p.TaskQueue, worker.Options{WorkerStopTimeout: 5 * time.Second})
	w.RegisterWorkflow(Move)
	w.RegisterActivity(&Ledger{Pool: pool, Dedupe: p.Dedupe, Faults: faults})
	if err := w.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("ledger: start the worker: %w", err)
	}
	stops = append(stops, w.Stop)
	return stop, nil
}

// protect adds the deduplication to a client, whose workers then have it.
func protect(options *client.Options, records dedupe.Store) error {
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store:    records,
		Policies: dedupe.Policies{"Book": {}},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	options.Plugins = append(options.Plugins, plugin)
	return nil
}
