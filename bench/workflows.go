package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

// order is what the workflows and their activities take.
type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

// fulfil is a workflow of three activities, one after the other.
func fulfil(ctx workflow.Context, o order) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	for range 3 {
		if err := workflow.ExecuteActivity(ctx, charge, o).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func charge(context.Context, order) (string, error) { return strings.Repeat("receipt:", 12), nil }

// site is a worker, and the client that it and its callers use.
type site struct {
	by, queue string
	client    client.Client
	worker    worker.Worker
}

// workflows compares whole workflows on Temporal's development server, on a
// worker with the plugin and on one without. Both workers are up all the time.
func (b *bench) workflows(ctx context.Context) error {
	server, err := devserver.Start(ctx, devserver.Options{Log: b.log})
	if err != nil {
		return err
	}
	defer server.Stop()
	const schema = "workflows"
	if err := b.server.schema(ctx, schema); err != nil {
		return err
	}
	if err := b.server.calm(ctx); err != nil { // what went before is still being written
		return err
	}
	records, closeStore, err := grouped.open(ctx, b, schema)
	if err != nil {
		return err
	}
	defer closeStore()
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: records, Policies: dedupe.Policies{dedupe.AnyActivity: {}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	var sites []*site
	for by, plugins := range map[string][]client.Plugin{report.Without: nil, report.With: {plugin}} {
		s, err := openSite(ctx, server, by, plugins)
		if err != nil {
			return err
		}
		defer s.close()
		sites = append(sites, s)
	}
	for round := range b.pairs {
		b.say("  pair %d of %d", round+1, b.pairs)
		for _, i := range turns(len(sites), round) {
			rate, err := sites[i].turn(ctx, b.orders, b.duration)
			if err != nil {
				return fmt.Errorf("%s: %w", sites[i].by, err)
			}
			b.Add(report.Point{What: report.Workflows, By: sites[i].by}, round, rate)
			b.say("    %s: %s workflows/s", sites[i].by, report.Number(rate))
		}
	}
	return nil
}

func openSite(ctx context.Context, server *devserver.Server, by string, plugins []client.Plugin) (*site, error) {
	c, err := client.DialContext(ctx, client.Options{
		HostPort: server.Address(), Namespace: server.Namespace(), Plugins: plugins,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, err
	}
	s := &site{by: by, client: c, queue: fmt.Sprintf("bench-%d", rand.Uint32())}
	s.worker = worker.New(c, s.queue, worker.Options{WorkerStopTimeout: 10 * time.Second})
	s.worker.RegisterWorkflow(fulfil)
	s.worker.RegisterActivity(charge)
	if err := s.worker.Start(); err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

func (s *site) close() {
	s.worker.Stop()
	s.client.Close()
}

// turn runs workflows, so many at once, and returns how many ended in a second.
func (s *site) turn(ctx context.Context, orders int, d time.Duration) (float64, error) {
	t, err := newMeter(orders, d).run(ctx, func(ctx context.Context, l *lap) error {
		for l.next() {
			id := fmt.Sprintf("order-%d", rand.Uint64())
			run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: s.queue},
				fulfil, order{ID: id, Customer: "customer-7", Cents: 12_50})
			if err != nil {
				return err
			}
			if err := run.Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return t.rate, err
}
