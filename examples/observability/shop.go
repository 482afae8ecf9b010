package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// shop pays orders.
type shop struct {
	services *services
	client   client.Client
	worker   worker.Worker
	queue    string
	orders   int
}

// openShop wires the plugin as a user does, with tracing around it: interceptors
// of the client stand outside of those of plugins.
func openShop(ctx context.Context, o options, telemetry *signals, out io.Writer) (_ *shop, err error) {
	services, err := startServices(ctx, o, out)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			services.stop()
		}
	}()
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: telemetry.tracers.Tracer("observability"),
	})
	if err != nil {
		return nil, fmt.Errorf("observability: tracing: %w", err)
	}
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: services.records,
		Policies: dedupe.Policies{
			"ReserveFunds":  {},
			"ChargePayment": {},
			"WriteLedger":   {Takeover: dedupe.Refuse},
		},
		TracerProvider:   telemetry.tracers,
		MeterProvider:    telemetry.meters,
		EvictionInterval: time.Second, // a minute where nobody watches
		Logger:           slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: services.address, Namespace: services.namespace,
		Interceptors: []interceptor.ClientInterceptor{tracing, &forgetful{}},
		Plugins:      []client.Plugin{plugin},
		Logger:       log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, fmt.Errorf("observability: %w", err)
	}
	s := &shop{services: services, client: c, queue: "observability-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	s.worker = worker.New(c, s.queue, worker.Options{WorkerStopTimeout: 10 * time.Second})
	s.worker.RegisterWorkflow(PayOrder)
	s.worker.RegisterActivity(&Activities{})
	if err := s.worker.Start(); err != nil {
		c.Close()
		return nil, fmt.Errorf("observability: %w", err)
	}
	return s, nil
}

func (s *shop) close() {
	s.worker.Stop()
	s.client.Close()
	s.services.stop()
}

// pay pays orders at once and returns how many were paid: the others have an
// outcome that nobody knows.
func (s *shop) pay(ctx context.Context, orders int) (paid int, err error) {
	var runs []client.WorkflowRun
	for range orders {
		s.orders++
		run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("%s-order-%d", s.queue, s.orders), TaskQueue: s.queue,
		}, PayOrder, s.orders)
		if err != nil {
			return paid, fmt.Errorf("observability: %w", err)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		switch err := run.Get(ctx, nil); {
		case err == nil:
			paid++
		case ctx.Err() != nil:
			return paid, ctx.Err()
		case !isUnknown(err):
			return paid, fmt.Errorf("observability: %w", err)
		}
	}
	return paid, nil
}
