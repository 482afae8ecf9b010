package store

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
)

// The defaults of an evictor.
const (
	DefaultEvictionInterval = time.Minute
	DefaultEvictionBatch    = 250
	DefaultEvictionRest     = 19
)

// The bounds of [EvictorOptions]' Interval and Rest.
const (
	MinEvictionInterval = time.Second
	MaxEvictionInterval = 30 * 24 * time.Hour
	MaxEvictionRest     = 1000
)

// EvictorOptions configure an [Evictor]. The zero value is useful.
type EvictorOptions struct {
	// Interval is the time from the end of one pass of [Evictor.Run] to the
	// beginning of the next, give or take a quarter; 1 second to 30 days.
	// Defaults to 1 min.
	Interval time.Duration
	// BatchSize is how many records one transaction removes at most. Defaults
	// to 250.
	BatchSize int
	// Rest is how many times as long as a full batch took the evictor pauses
	// after it, for a second at most, so that whoever else uses the database
	// hardly notices. Defaults to 19: it keeps a twentieth of a connection busy.
	// Negative is no pause; at most [MaxEvictionRest].
	Rest int
	// MaxBatches bounds one pass. Zero is no bound: a pass ends when it finds
	// less than a batch to remove.
	MaxBatches int
	// Logger takes one event for each pass. Defaults to slog.Default().
	Logger *slog.Logger
	// OnPass is called after each pass, before the next one begins. A panic in it is
	// dropped.
	OnPass func(Pass)
}

// validate tells what is wrong with the options; its error names the field.
func (o EvictorOptions) validate() error {
	switch {
	case o.Interval != 0 && (o.Interval < MinEvictionInterval || o.Interval > MaxEvictionInterval):
		return fmt.Errorf("dedupe: EvictorOptions.Interval is %v, want %v to %v, or 0 for %v",
			o.Interval, MinEvictionInterval, MaxEvictionInterval, DefaultEvictionInterval)
	case o.BatchSize < 0:
		return fmt.Errorf("dedupe: EvictorOptions.BatchSize is negative: %d", o.BatchSize)
	case o.Rest > MaxEvictionRest:
		return fmt.Errorf("dedupe: EvictorOptions.Rest is %d, want at most %d", o.Rest, MaxEvictionRest)
	case o.MaxBatches < 0:
		return fmt.Errorf("dedupe: EvictorOptions.MaxBatches is negative: %d", o.MaxBatches)
	}
	return nil
}

func (o EvictorOptions) withDefaults() EvictorOptions {
	o.Interval = cmp.Or(o.Interval, DefaultEvictionInterval)
	o.BatchSize = cmp.Or(o.BatchSize, DefaultEvictionBatch)
	o.Rest = cmp.Or(o.Rest, DefaultEvictionRest)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
