// Command ledger moves money between accounts in Postgres while its workers fail
// or are killed, and shows that every transfer is booked once and that the records
// agree with the books. It runs with nothing set up:
//
//	go run ./examples/ledger
//	go run ./examples/ledger -crash
//
// The activity (ledger.go), its workflow (workflow.go) and the wiring of the plugin
// (worker.go) are what a user writes; the rest of the program brings the services,
// injects the faults and audits. It must not know how the deduplication works: it
// judges by what the books say.
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
	exitBalanced    = 0   // every transfer was booked once
	exitFault       = 1   // the books are wrong, or there was no run at all
	exitUsage       = 2   // a flag is wrong
	exitInterrupted = 130 // Ctrl-C
)

func main() {
	if workerMain() {
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
		return exitBalanced
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitUsage
	}
	fine, err := demo(ctx, o, stdout)
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "ledger: interrupted; everything that was started is stopped")
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitFault
	case !fine:
		return exitFault
	}
	return exitBalanced
}

// demo starts the services, makes the transfers and audits the books. It tells
// whether they are right.
func demo(ctx context.Context, o options, out io.Writer) (fine bool, err error) {
	env, err := startEnvironment(ctx, o, out)
	if err != nil {
		return false, err
	}
	defer env.stop()
	var made []outcome
	if o.crash {
		made, err = env.crash(ctx, o, out)
	} else {
		made, err = env.fail(ctx, o, out)
	}
	if err != nil {
		return false, err
	}
	a, err := env.books.audit(ctx, made, o.dedupe)
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprint(out, a)
	return a.fine(), nil
}
