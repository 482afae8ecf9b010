// Command payment pays orders through Temporal while answers get lost, and shows
// that every order is charged once. It runs with nothing set up:
//
//	go run ./examples/payment
//
// The workflow (workflow.go), its activities (activities.go) and the wiring of
// the plugin (worker.go) are what a user writes; the rest of the program brings
// the services, injects the faults and counts. It must not know how the
// deduplication works: it judges by what the payment provider has charged.
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

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
)

// The exit codes.
const (
	exitPaid        = 0   // every order was charged once
	exitFault       = 1   // a duplicate, an unpaid order, or no run at all
	exitUsage       = 2   // a flag is wrong
	exitInterrupted = 130 // Ctrl-C
)

func main() {
	if crashtest.WorkerMain() {
		return // one of the workers that -crash kills
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns when everything that it started is gone.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitPaid
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitUsage
	}
	show := demo
	if o.crash {
		show = crash
	}
	fine, err := show(ctx, o, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "payment: interrupted; everything that was started is stopped")
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitFault
	case !fine:
		return exitFault
	}
	return exitPaid
}

// demo starts the services, pays the orders and reports. It tells whether every
// order was paid once.
func demo(ctx context.Context, o options, stdout, stderr io.Writer) (fine bool, err error) {
	env, err := startEnvironment(ctx, o, stdout)
	if err != nil {
		return false, err
	}
	defer env.stop()

	orders := newOrders(o.orders)
	shop, err := open(ctx, env, o, orders, stderr)
	if err != nil {
		return false, err
	}
	defer shop.close()

	r := report{out: stdout, env: env, shop: shop}
	r.before(o.dedupe)
	outcomes := shop.pay(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return r.after(ctx, outcomes)
}
