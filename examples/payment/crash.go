package main

import (
	"context"
	"fmt"
	"io"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/crashtest"
)

// crash kills workers instead of losing completions, and tells whether every
// promise was kept.
func crash(ctx context.Context, o options, stdout, stderr io.Writer) (kept bool, err error) {
	c := crashtest.Options{
		Rounds:          o.rounds,
		WithoutDedupe:   !o.dedupe,
		DatabaseURL:     o.databaseURL,
		TemporalAddress: o.temporalAddress,
		Out:             stdout,
	}
	if o.verbose {
		c.WorkerLog = stderr
	}
	report, err := crashtest.Run(ctx, c)
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(stdout, "\n%s\n%s\n", report, report.Summary())
	return report.OK(), nil
}
