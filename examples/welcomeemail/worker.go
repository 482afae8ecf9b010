package main

import (
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// protect adds the deduplication to a client. The policy is the default one: should
// a worker die between sending and recording, the email is sent again. A policy
// that forbids that, dedupe.Refuse, needs a Redis that loses nothing, and
// redisstore.Options.Durable to say so.
func protect(options *client.Options, records dedupe.Store) error {
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store:    records,
		Policies: dedupe.Policies{"SendWelcome": {}},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	options.Plugins = append(options.Plugins, plugin)
	return nil
}

// newWorker returns a worker. WorkerStopTimeout lets activities end, and be
// recorded, when the process is stopped.
func newWorker(c client.Client, taskQueue string, outbox *Outbox) worker.Worker {
	w := worker.New(c, taskQueue, worker.Options{WorkerStopTimeout: 10 * time.Second})
	w.RegisterWorkflow(Welcome)
	w.RegisterActivity(outbox)
	return w
}

// quiet is the log of the Temporal SDK: the demo's own lines say what happens.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }
