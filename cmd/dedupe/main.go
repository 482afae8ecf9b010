// Command dedupe is the operator's command line for the tables that hold the
// records of temporal-dedupe. Run it without arguments for help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

func main() {
	// A reader that has gone away makes writes fail: what was done is then told on
	// standard error, which a signal would keep from happening.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Args[1:], command.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
	})
	stop()
	os.Exit(code)
}
