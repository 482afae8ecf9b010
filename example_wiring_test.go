package dedupe_test

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// Workers that run workflows only need no store.
func ExampleNewWorkflowPlugin() {
	options := client.Options{Plugins: []client.Plugin{dedupe.NewWorkflowPlugin()}}
	fmt.Println(options.Plugins[0].Name())
	// Output: github.com/seed5aa7bdf6/temporal-dedupe/workflows
}

// Wired by hand, the interceptor needs the client's converters, and has to be checked,
// kept tidy and drained by the program.
func ExampleNewInterceptor() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	records, err := memstore.New(memstore.Options{}) // pgstore.New in production
	if err != nil {
		panic(err)
	}
	i, err := dedupe.NewInterceptor(dedupe.Options{
		Store:         records,
		Policies:      dedupe.Policies{"ChargePayment": {}},
		DataConverter: converter.GetDefaultDataConverter(),
	})
	if err != nil {
		panic(err)
	}
	if err := records.Check(ctx); err != nil {
		panic(err)
	}
	evicted := make(chan struct{})
	go func() {
		defer close(evicted)
		i.Evict(ctx)
	}()
	options := worker.Options{Interceptors: []interceptor.WorkerInterceptor{i}}
	fmt.Println(len(options.Interceptors), "interceptor; worker.New and Run do the rest")

	stop()
	<-evicted
	fmt.Println(i.Drain(context.Background()))
	// Output:
	// 1 interceptor; worker.New and Run do the rest
	// <nil>
}

// An activity hands its handle to somebody who will know how the transfer ended, a
// webhook for instance, and goes.
func ExampleCompleteAsync() {
	requestTransfer := func(string) error { return nil }
	_ = func(ctx context.Context) error {
		text, err := dedupe.PendingHandle(ctx).MarshalText()
		if err != nil {
			return err
		}
		if err := requestTransfer(string(text)); err != nil {
			return err
		}
		return activity.ErrResultPending
	}

	// The webhook, in another process. Any other error: call it again.
	_ = func(ctx context.Context, o dedupe.AsyncOptions, text, receipt string) error {
		var handle dedupe.Handle
		if err := handle.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		err := dedupe.CompleteAsync(ctx, o, handle, receipt, nil)
		if errors.Is(err, dedupe.ErrStaleHandle) || errors.Is(err, dedupe.ErrNotWaiting) {
			return nil // there is nothing more to do
		}
		return err
	}
}

func ExampleLoadConfig() {
	_, err := dedupe.LoadConfig("no such file.yaml")
	fmt.Println(err)
	// Output: dedupe: read the configuration: open no such file.yaml: no such file or directory
}
