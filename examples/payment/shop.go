package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
)

// payTimeout bounds an order: with its faults it takes three seconds.
const payTimeout = 2 * time.Minute

// shop is the application: a worker, and a client that starts the orders.
type shop struct {
	orders    []Order
	taskQueue string
	provider  *Provider
	books     *Books
	tally     *tally
	faults    *faults
	metrics   *metric.ManualReader // nil without deduplication

	http   *http.Client
	client client.Client
	worker worker.Worker
}

// open connects to Temporal and starts the worker.
func open(ctx context.Context, env *environment, o options, orders []Order, logs io.Writer) (*shop, error) {
	s := &shop{
		orders:    orders,
		taskQueue: prefixOf(orders) + "queue",
		provider:  env.provider,
		books:     newBooks(),
		tally:     newTally(),
		faults:    newFaults(orders),
		http:      &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(orders)}},
	}
	if !o.verbose {
		logs = io.Discard
	}
	options := client.Options{
		HostPort:     env.temporalAddress,
		Namespace:    env.namespace,
		Logger:       log.NewStructuredLogger(slog.New(slog.NewTextHandler(logs, nil))),
		Interceptors: []interceptor.ClientInterceptor{s.tally},
		ConnectionOptions: client.ConnectionOptions{
			DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(s.faults.onTheWire)},
		},
	}
	if o.dedupe {
		s.metrics = metric.NewManualReader()
		meters := metric.NewMeterProvider(metric.WithReader(s.metrics))
		if err := protect(&options, env.records.store, meters); err != nil {
			return nil, fmt.Errorf("payment: %w", err)
		}
	}
	var err error
	if s.client, err = client.DialContext(ctx, options); err != nil {
		return nil, fmt.Errorf("payment: Temporal at %s: %w", env.temporalAddress, err)
	}
	s.worker = newWorker(s.client, s.taskQueue, &Activities{ProviderURL: env.providerURL, Client: s.http, Books: s.books}, s.faults)
	if err := s.worker.Start(); err != nil {
		s.client.Close()
		return nil, fmt.Errorf("payment: start the worker: %w", err)
	}
	return s, nil
}

// close stops the worker first: what it still does is recorded.
func (s *shop) close() {
	s.worker.Stop()
	s.client.Close()
	s.http.CloseIdleConnections()
}

// outcome is how an order ended.
type outcome struct {
	order   Order
	receipt Receipt
	err     error
}

// pay starts all orders at once and waits for them.
func (s *shop) pay(ctx context.Context) []outcome {
	outcomes := make([]outcome, len(s.orders))
	var wait sync.WaitGroup
	for i, order := range s.orders {
		wait.Go(func() {
			o := outcome{order: order}
			run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: order.ID, TaskQueue: s.taskQueue, WorkflowExecutionTimeout: payTimeout,
			}, PayOrder, order)
			if err == nil {
				err = run.Get(ctx, &o.receipt)
			}
			o.err = err
			outcomes[i] = o
		})
	}
	wait.Wait()
	return outcomes
}
