package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.temporal.io/sdk/worker"
)

// planVar makes this program a worker, with its plan for a value.
const planVar = "LEDGER_WORKER"

// plan is what a worker needs to know.
type plan struct {
	TemporalAddress, Namespace, TaskQueue string
	DatabaseURL                           string
	Dedupe                                bool
	// Dies is where the worker is killed.
	Dies window
}

// environment is the variable that carries the plan.
func (p plan) environment() (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("ledger: plan: %w", err)
	}
	return planVar + "=" + string(b), nil
}

// workerMain makes this process a worker if it was started as one, and tells whether
// that was so. A worker that cannot work says why, and ends.
func workerMain() (handled bool) {
	encoded, found := os.LookupEnv(planVar)
	if !found {
		return false
	}
	var p plan
	err := json.Unmarshal([]byte(encoded), &p)
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
	// Workflow tasks that wait for a dead worker's cache would only cost time.
	worker.SetStickyWorkflowCacheSize(0)
	r := &reaper{at: p.Dies}
	end, err := startWorker(ctx, p, r.faults(), r)
	if err != nil {
		return err
	}
	<-ctx.Done()
	end()
	return nil
}
