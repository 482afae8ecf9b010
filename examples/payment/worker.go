package main

import (
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// protect adds the deduplication to a client. This is all there is to it: the
// client's workers are deduplicated too.
func protect(options *client.Options, records dedupe.Store, meters metric.MeterProvider) error {
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: records,
		Policies: dedupe.Policies{
			"ReserveFunds":  {},
			"ChargePayment": {},
			"WriteLedger":   {},
			"SendReceipt":   {},
		},
		MeterProvider: meters,
	})
	if err != nil {
		return err
	}
	options.Plugins = append(options.Plugins, plugin)
	return nil
}

// newWorker returns a worker for the orders. WorkerStopTimeout lets activities
// end, and be recorded, when the process is stopped.
func newWorker(c client.Client, taskQueue string, activities *Activities, f *faults) worker.Worker {
	w := worker.New(c, taskQueue, worker.Options{
		WorkerStopTimeout: 10 * time.Second,
		Interceptors:      []interceptor.WorkerInterceptor{f},
	})
	w.RegisterWorkflow(PayOrder)
	w.RegisterActivity(activities)
	return w
}
