package crashtest

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

// services are what a run found or started.
type services struct {
	databaseURL string // empty without deduplication
	bench       *Bench
	stops       []func() // in the order of the starts
}

// startServices finds or starts the database and Temporal. The database comes
// first: that it cannot be reached should be said before a server is built.
func startServices(ctx context.Context, o Options) (*services, error) {
	s := &services{}
	steps := []func(context.Context, Options) error{s.startDatabase, s.startTemporal}
	if o.WithoutDedupe {
		steps = steps[1:]
	}
	for _, step := range steps {
		if err := step(ctx, o); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

func (s *services) startTemporal(ctx context.Context, o Options) (err error) {
	address, namespace := o.TemporalAddress, cmp.Or(o.Namespace, "default")
	if address == "" {
		say(o.Out, "Temporal", "looking for a server, or starting one ...")
		server, err := devserver.Start(ctx, devserver.Options{Namespace: o.Namespace, Log: o.Out})
		if err != nil {
			return fmt.Errorf("crashtest: %w", err)
		}
		s.stops = append(s.stops, server.Stop)
		address, namespace = server.Address(), server.Namespace()
	}
	say(o.Out, "Temporal", "%s, namespace %s", address, namespace)
	if s.bench, err = NewBench(ctx, address, namespace); err != nil {
		return err
	}
	s.stops = append(s.stops, s.bench.Close)
	return nil
}

func (s *services) startDatabase(ctx context.Context, o Options) error {
	if inRedis(o.DatabaseURL) {
		say(o.Out, "Redis", "the given one")
		s.databaseURL = o.DatabaseURL
		return nil
	}
	where := "the given database"
	if o.DatabaseURL == "" {
		where = "a private one, which ends with this run"
	}
	say(o.Out, "Postgres", "%s", where)
	url, stop, err := localpg.Open(ctx, o.DatabaseURL, localpg.Options{})
	if err != nil {
		return fmt.Errorf("crashtest: %w", err)
	}
	s.stops = append(s.stops, func() { _ = stop() })
	if _, err := migrations.Up(ctx, url, migrations.Options{}); err != nil {
		return fmt.Errorf("crashtest: %w", err)
	}
	s.databaseURL = url
	return nil
}

// stop ends what was started, last first.
func (s *services) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

func say(out io.Writer, what, format string, args ...any) {
	_, _ = fmt.Fprintf(out, "%-9s %s\n", what, fmt.Sprintf(format, args...))
}
