// Command welcomeemail greets every user once, whichever workflow comes first,
// with records in Redis. It runs with nothing set up:
//
//	go run ./examples/welcomeemail
//
// The workflow and its activity (welcome.go), the store (records.go) and the
// worker (worker.go) are what a user writes; the rest of the program brings the
// services and counts. It must not know how the deduplication works: it judges by
// what the outbox has sent.
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

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
)

// The exit codes.
const (
	exitFine        = 0   // nobody got two emails
	exitFault       = 1   // somebody did, or the program could not run
	exitUsage       = 2   // a flag is wrong
	exitInterrupted = 130 // Ctrl-C
)

// maxUsers keeps the table readable.
const maxUsers = 50

// options are the command's flags.
type options struct {
	users    int
	dedupe   bool
	redisURL string
	redis    localredis.Options // for the private Redis; no flag
}

func main() {
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
		return exitFine
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitUsage
	}
	fine, err := demo(ctx, o, stdout)
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "welcomeemail: interrupted; everything that was started is stopped")
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintln(stderr, err)
		return exitFault
	case !fine:
		return exitFault
	}
	return exitFine
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("welcomeemail", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.users, "users", 3, "how many `users` to greet")
	flags.BoolVar(&o.dedupe, "dedupe", true, "deduplicate; false shows what the same workflows do without")
	flags.StringVar(&o.redisURL, "redis-url", os.Getenv("REDIS_URL"),
		"`URL` of the Redis for the records, where nothing is deleted; "+
			"defaults to REDIS_URL, and without that to a private Redis, then to memory")
	// The value of REDIS_URL may hold a password: help does not print it.
	flags.Lookup("redis-url").DefValue = ""
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("welcomeemail: unexpected argument %q; flags begin with a dash", flags.Arg(0))
	case o.users < 1 || o.users > maxUsers:
		return options{}, fmt.Errorf("welcomeemail: -users is %d, want 1 to %d", o.users, maxUsers)
	}
	return o, nil
}
