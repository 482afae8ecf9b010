package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// evicted is what a pass by hand prints.
type evicted struct {
	CorrelationID string  `json:"correlation_id"`
	Removed       int     `json:"removed"`
	Batches       int     `json:"batches"`
	More          bool    `json:"more"`
	Seconds       float64 `json:"seconds"`
	Held          *int64  `json:"held"` // null where the pass failed
}

func newEvict(env Env) *cobra.Command {
	var database databaseFlags
	var output outputFlag
	var batchSize, rest, maxBatches int
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "evict",
		Short: "Remove the records whose retention is over",
		Long: `Remove the records whose retention is over, in one pass.

Workers do so by themselves, every minute; this is for those who turned that
off, and for a table that grew while no worker ran. It may run beside workers
and beside itself. Records that are held, pending, under a live lease, or that
leave an effect possible under the policies refuse and verify, stay.

What was removed before an error stays removed; run it again.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case batchSize < 1:
				return usagef("dedupe: --batch-size must be 1 or more, not %d", batchSize)
			case rest < 0 || rest > store.MaxEvictionRest:
				return usagef("dedupe: --rest must be 0 to %d, not %d", store.MaxEvictionRest, rest)
			case maxBatches < 0:
				return usagef("dedupe: --max-batches must be 0 or more, not %d", maxBatches)
			}
			if err := output.validate(); err != nil {
				return err
			}
			if err := validateTimeout(timeout); err != nil {
				return err
			}
			s, err := database.open(c.Context(), env, pgstore.Options{CallTimeout: timeout})
			if err != nil {
				return err
			}
			defer s.close()
			e, err := store.NewEvictor(s, store.EvictorOptions{
				BatchSize: batchSize, Rest: cmp.Or(rest, -1), MaxBatches: maxBatches,
				Logger: slog.New(slog.DiscardHandler), // what it would say is printed
			})
			if err != nil {
				return err
			}
			pass := e.Pass(c.Context())
			if err := output.print(env.Out, evictionSummary(pass), func(out io.Writer) error { return printPass(out, pass, maxBatches) }); err != nil {
				return fmt.Errorf("dedupe: evict: %d records were removed, which could not be printed: %w", pass.Removed, errors.Join(err, pass.Err))
			}
			if pass.Err != nil && c.Context().Err() != nil {
				return fmt.Errorf("dedupe: evict: %w: what was removed stays removed; run it again for the rest", context.Canceled)
			}
			return pass.Err
		},
	}
	database.register(c)
	output.register(c)
	registerTimeout(c, &timeout, time.Minute, "one batch")
	c.Flags().IntVar(&batchSize, "batch-size", store.DefaultEvictionBatch, "how many records one transaction removes at most")
	c.Flags().IntVar(&rest, "rest", 1, "pause after a batch for so many times as long as it took, up to a second; workers do for 19 times")
	c.Flags().IntVar(&maxBatches, "max-batches", 0, "stop after so many batches; 0 goes on until nothing is left")
	return c
}

func evictionSummary(p store.Pass) evicted {
	e := evicted{CorrelationID: p.ID, Removed: p.Removed, Batches: p.Batches, More: p.More, Seconds: p.Duration.Seconds()}
	if p.Held != store.HeldUnknown {
		e.Held = &p.Held
	}
	return e
}

func printPass(out io.Writer, p store.Pass, maxBatches int) error {
	text := fmt.Sprintf("evicted %d records in %d batches and %v (%s)\n", p.Removed, p.Batches, p.Duration.Round(time.Millisecond), p.ID)
	switch {
	case p.More && p.Batches == maxBatches:
		text += "there may be more: run it again, or leave --max-batches out\n"
	case p.More:
		text += "there may be more: run it again\n"
	}
	if p.Held > 0 {
		text += fmt.Sprintf("%d records are held and wait for an operator\n", p.Held)
	}
	_, err := io.WriteString(out, text)
	return err
}
