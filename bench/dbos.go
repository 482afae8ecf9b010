package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
)

// dbosEmpty removes what earlier turns have left.
const dbosEmpty = "TRUNCATE dbos.workflow_status, dbos.operation_outputs CASCADE"

// dbosSteps runs steps of DBOS's durable workflows, as it comes: its own pool of
// 20 connections, its own tables. A step looks whether it was recorded, and
// records what it returned.
type dbosSteps struct {
	context dbos.Context

	mu    sync.Mutex
	meter *meter // of the turn
}

func (b *bench) startDBOS(ctx context.Context) (*dbosSteps, error) {
	d, err := dbos.NewContext(ctx, dbos.Config{
		AppName: "bench", DatabaseURL: b.server.cluster.URL(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	s := &dbosSteps{context: d}
	dbos.RegisterWorkflow(d, s.workflow, dbos.WithWorkflowName("steps"))
	if err := dbos.Launch(d); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *dbosSteps) stop() { _ = dbos.Shutdown(s.context, 10*time.Second) }

// workflow makes step after step until the turn is over.
func (s *dbosSteps) workflow(ctx dbos.Context, caller int) (int, error) {
	s.mu.Lock()
	l := s.meter.laps[caller]
	s.mu.Unlock()
	output := strings.Repeat("receipt:", 12)
	for l.next() {
		if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return output, nil }); err != nil {
			return 0, err
		}
	}
	return l.total, nil
}

// contender runs a workflow for each caller.
func (s *dbosSteps) contender() contender {
	return contender{report.DBOS, "dbos", func(ctx context.Context, callers int, d time.Duration) (tally, time.Duration, error) {
		m := newMeter(callers, d)
		s.mu.Lock()
		s.meter = m
		s.mu.Unlock()
		numbers := make(chan int, callers)
		for i := range callers {
			numbers <- i
		}
		t, err := m.run(ctx, func(context.Context, *lap) error {
			handle, err := dbos.RunWorkflow(s.context, s.workflow, <-numbers)
			if err != nil {
				return err
			}
			_, err = handle.GetResult()
			return err
		})
		return t, 0, err
	}}
}
