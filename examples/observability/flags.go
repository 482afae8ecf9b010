package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// options are the command's flags.
type options struct {
	orders          int
	keep            bool
	metricsAddress  string
	otlp            string
	spans           bool
	databaseURL     string
	temporalAddress string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("observability", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.orders, "orders", 20, "how many `orders` to pay")
	flags.BoolVar(&o.keep, "keep", false, "go on paying orders, and serving metrics, until Ctrl-C")
	flags.StringVar(&o.metricsAddress, "metrics-address", "127.0.0.1:9464", "`host:port` where Prometheus reads the metrics")
	flags.StringVar(&o.otlp, "otlp", "", "`host:port` of a collector that takes spans by OTLP over HTTP, such as 127.0.0.1:4318")
	flags.BoolVar(&o.spans, "spans", false, "print the spans")
	flags.StringVar(&o.databaseURL, "database-url", os.Getenv("DATABASE_URL"),
		"`URL` of the Postgres database for the records; defaults to DATABASE_URL, and without that to a private Postgres, then to memory")
	flags.StringVar(&o.temporalAddress, "temporal-address", "",
		"`host:port` of a Temporal server; defaults to TEMPORAL_ADDRESS, and without that to a development server that is started")
	// The value of DATABASE_URL may hold a password: help does not print it.
	flags.Lookup("database-url").DefValue = ""
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("observability: unexpected argument %q; flags begin with a dash", flags.Arg(0))
	case o.orders < 1:
		return options{}, fmt.Errorf("observability: -orders is %d, want at least 1", o.orders)
	}
	return o, nil
}
