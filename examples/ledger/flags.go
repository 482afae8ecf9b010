package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// options are the command's flags.
type options struct {
	transfers       int
	dedupe          bool
	crash           bool
	kills           int
	databaseURL     string
	temporalAddress string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.transfers, "transfers", 24, "how many `transfers` to make; with -crash there are as many as the kills take")
	flags.BoolVar(&o.dedupe, "dedupe", true, "deduplicate; false shows what the same faults do without")
	flags.BoolVar(&o.crash, "crash", false, "kill worker processes at every moment that matters")
	flags.IntVar(&o.kills, "kills", 100, "how many workers -crash `kills`")
	flags.StringVar(&o.databaseURL, "database-url", os.Getenv("DATABASE_URL"),
		"`URL` of the Postgres database for books and records, where tables are added and nothing is deleted; "+
			"defaults to DATABASE_URL, and without that to a private Postgres")
	flags.StringVar(&o.temporalAddress, "temporal-address", "",
		"`host:port` of a Temporal server; defaults to TEMPORAL_ADDRESS, and without that to a development server that is started")
	// The value of DATABASE_URL may hold a password: help does not print it.
	flags.Lookup("database-url").DefValue = ""
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("ledger: unexpected argument %q; flags begin with a dash", flags.Arg(0))
	case o.transfers < 3 || o.transfers > 1000:
		return options{}, fmt.Errorf("ledger: -transfers is %d, want 3 to 1000", o.transfers)
	case o.kills < 1:
		return options{}, fmt.Errorf("ledger: -kills is %d, want at least 1", o.kills)
	}
	return o, nil
}
