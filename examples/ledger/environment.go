package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

// environment is what the workers need around them.
type environment struct {
	plan   plan
	books  *books
	client client.Client // for the one who starts the transfers

	stops []func() // in the order of the starts
}

// startEnvironment brings up Postgres and Temporal, and opens the books.
func startEnvironment(ctx context.Context, o options, out io.Writer) (*environment, error) {
	e := &environment{plan: plan{Dedupe: o.dedupe}}
	for _, step := range []func(context.Context, options, io.Writer) error{e.startPostgres, e.startTemporal} {
		if err := step(ctx, o, out); err != nil {
			e.stop()
			return nil, err
		}
	}
	return e, nil
}

// stop ends what was started, last first.
func (e *environment) stop() {
	for i := len(e.stops) - 1; i >= 0; i-- {
		e.stops[i]()
	}
}

func (e *environment) startPostgres(ctx context.Context, o options, out io.Writer) error {
	where := "the given database, where tables are added and nothing is deleted"
	if o.databaseURL == "" {
		where = "a private one, which ends with this program"
	}
	say(out, "Postgres", "%s", where)
	url, stop, err := localpg.Open(ctx, o.databaseURL, localpg.Options{})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	e.stops = append(e.stops, func() { _ = stop() })
	if e.books, err = openBooks(ctx, url); err != nil {
		return err
	}
	e.stops = append(e.stops, e.books.pool.Close)
	e.plan.DatabaseURL, e.plan.TaskQueue = url, e.books.run
	return nil
}

func (e *environment) startTemporal(ctx context.Context, o options, out io.Writer) (err error) {
	e.plan.TemporalAddress, e.plan.Namespace = o.temporalAddress, cmp.Or(os.Getenv(devserver.NamespaceVar), "default")
	if o.temporalAddress == "" {
		say(out, "Temporal", "looking for a server, or starting one: a few seconds, and minutes the first time, when it may have to be built ...")
		server, err := devserver.Start(ctx, devserver.Options{Log: out})
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		e.stops = append(e.stops, server.Stop)
		e.plan.TemporalAddress, e.plan.Namespace = server.Address(), server.Namespace()
	}
	say(out, "Temporal", "%s, namespace %s", e.plan.TemporalAddress, e.plan.Namespace)
	e.client, err = client.DialContext(ctx, client.Options{
		HostPort: e.plan.TemporalAddress, Namespace: e.plan.Namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return fmt.Errorf("ledger: Temporal at %s: %w", e.plan.TemporalAddress, err)
	}
	e.stops = append(e.stops, e.client.Close)
	return nil
}

func say(out io.Writer, what, format string, args ...any) {
	_, _ = fmt.Fprintf(out, "%-9s %s\n", what, fmt.Sprintf(format, args...))
}
