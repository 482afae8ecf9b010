// Command downstream buys things in one activity that asks two services, while
// attempts fail in between, and shows that nothing is charged or shipped twice. It
// runs with nothing set up but a Temporal server, which it brings:
//
//	go run ./examples/downstream
//
// The activity (buy.go) is what a user writes; the rest brings the services, which
// count what they are asked, and judges by their counts. It must not know how keys
// are derived.
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
)

// The exit codes.
const (
	exitOnce        = 0   // everything was charged and shipped once
	exitFault       = 1   // something was not, or there was no run at all
	exitUsage       = 2   // a flag is wrong
	exitInterrupted = 130 // Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command's flags.
type options struct {
	orders          int
	transport, do   bool
	temporalAddress string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("downstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.orders, "orders", 8, "how many `orders` to buy; half of them meet a fault")
	flags.BoolVar(&o.transport, "transport", true, "send an Idempotency-Key; false shows what the same faults do without")
	flags.BoolVar(&o.do, "do", false, "record each request's answer with dedupe.Do, so that it is not even sent again")
	flags.StringVar(&o.temporalAddress, "temporal-address", "",
		"`host:port` of a Temporal server; defaults to TEMPORAL_ADDRESS, and without that to a development server that is started")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("downstream: unexpected argument %q; flags begin with a dash", flags.Arg(0))
	case o.orders < 2 || o.orders > 100:
		return o, fmt.Errorf("downstream: -orders is %d, want 2 to 100", o.orders)
	}
	return o, nil
}

// run is the program. It returns when everything that it started is gone.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOnce
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitUsage
	}
	fine, err := demo(ctx, o, stdout)
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "downstream: interrupted; everything that was started is stopped")
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitFault
	case !fine:
		return exitFault
	}
	return exitOnce
}
