package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// services are the store and Temporal, found or started.
type services struct {
	records   dedupe.Store
	address   string
	namespace string
	stops     []func() // in the order of the starts
}

func startServices(ctx context.Context, o options, out io.Writer) (*services, error) {
	s := &services{}
	for _, start := range []func(context.Context, options, io.Writer) error{s.startRecords, s.startTemporal} {
		if err := start(ctx, o, out); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

// stop ends what was started, last first.
func (s *services) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

func (s *services) startRecords(ctx context.Context, o options, out io.Writer) error {
	url := o.databaseURL
	if url == "" {
		cluster, err := localpg.Start(ctx, localpg.Options{})
		switch {
		case errors.Is(err, localpg.ErrNoPostgres):
			_, _ = fmt.Fprintln(out, "Records   in memory, for want of a Postgres")
			s.records, err = memstore.New(memstore.Options{})
			return err
		case err != nil:
			return fmt.Errorf("observability: %w", err)
		}
		s.stops = append(s.stops, func() { _ = cluster.Stop() })
		url = cluster.URL()
	}
	if _, err := migrations.Up(ctx, url, migrations.Options{}); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return errors.New("observability: -database-url is no Postgres URL")
	}
	s.stops = append(s.stops, pool.Close)
	records, err := pgstore.New(ctx, pool, pgstore.Options{})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, records.Close)
	s.records = records
	_, _ = fmt.Fprintln(out, "Records   Postgres, table idempotency_records")
	return nil
}

func (s *services) startTemporal(ctx context.Context, o options, out io.Writer) error {
	if o.temporalAddress != "" {
		s.address, s.namespace = o.temporalAddress, cmp.Or(os.Getenv(devserver.NamespaceVar), "default")
		return nil
	}
	server, err := devserver.Start(ctx, devserver.Options{Log: out})
	if err != nil {
		return fmt.Errorf("observability: %w", err)
	}
	s.stops = append(s.stops, server.Stop)
	s.address, s.namespace = server.Address(), server.Namespace()
	_, _ = fmt.Fprintf(out, "Temporal  %s\n", s.address)
	return nil
}
