package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

// maxOrders is what two cores pay within the start-to-close timeout.
const maxOrders = 200

// options are the command's flags.
type options struct {
	orders          int
	dedupe          bool
	honourKeys      bool
	crash           bool
	rounds          int
	databaseURL     string
	temporalAddress string
	verbose         bool
	postgres        localpg.Options // for the private Postgres; no flag
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("payment", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.orders, "orders", 20, "how many `orders` to pay")
	flags.BoolVar(&o.dedupe, "dedupe", true, "deduplicate; false shows what the same faults do without")
	flags.BoolVar(&o.honourKeys, "honour-keys", false, "let the payment provider honour the Idempotency-Key instead of ignoring it")
	flags.BoolVar(&o.crash, "crash", false, "kill worker processes at every moment that matters, under every policy, and count")
	flags.IntVar(&o.rounds, "rounds", 1, "how often -crash runs each case; `n` times 30 kills")
	flags.StringVar(&o.databaseURL, "database-url", os.Getenv("DATABASE_URL"),
		"`URL` of the Postgres database for the records, where migrations are run and nothing is deleted; "+
			"defaults to DATABASE_URL, and without that to a private Postgres, then to memory")
	flags.StringVar(&o.temporalAddress, "temporal-address", "",
		"`host:port` of a Temporal server; defaults to TEMPORAL_ADDRESS, and without that to a development server that is started")
	flags.BoolVar(&o.verbose, "verbose", false, "print the log of the Temporal SDK, where every injected fault is an error")
	// The value of DATABASE_URL may hold a password: help does not print it.
	flags.Lookup("database-url").DefValue = ""
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("payment: unexpected argument %q; flags begin with a dash", flags.Arg(0))
	case o.rounds < 1:
		return options{}, fmt.Errorf("payment: -rounds is %d, want at least 1", o.rounds)
	case o.orders < 1 || o.orders > maxOrders:
		return options{}, fmt.Errorf("payment: -orders is %d, want 1 to %d", o.orders, maxOrders)
	}
	return o, nil
}
