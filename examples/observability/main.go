// Command observability shows what the deduplication tells of itself: it pays
// orders, of which some lose a completion, fail, or end with an outcome that
// nobody knows, and serves the metrics to Prometheus and the spans to a collector
// or the terminal. It runs with nothing set up:
//
//	go -C examples/observability run .
//
// What a user writes is in telemetry.go; alerts.yaml and dashboard.json are to be
// taken along. It is a module of its own, so that nobody who uses the library
// compiles an exporter.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is the program. It returns when everything that it started is gone.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	signals, err := openTelemetry(ctx, o, stdout)
	if err != nil {
		return err
	}
	defer signals.close()
	shop, err := openShop(ctx, o, signals, stdout)
	if err != nil {
		return err
	}
	defer shop.close()

	_, _ = fmt.Fprintf(stdout, "Metrics   http://%s/metrics\n\nPaying %d orders ...\n", signals.address, o.orders)
	paid, err := shop.pay(ctx, o.orders)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "%d orders paid, %d with an outcome that nobody knows\n\n", paid, o.orders-paid)
	if err := signals.print(ctx, stdout, o.orders-paid); err != nil {
		return err
	}
	if o.keep {
		_, _ = fmt.Fprintln(stdout, "\nPaying an order every second, until Ctrl-C")
	}
	for o.keep && pause(ctx, time.Second) {
		if _, err := shop.pay(ctx, 1); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// pause waits and tells whether it waited to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
