package store

import (
	"context"
	"log/slog"
	"time"
)

// Maintained is a [Store] that keeps a trace of its maintenance, so that somebody
// can notice when there is none. A store need not be one.
type Maintained interface {
	// RecordPass notes a pass that has succeeded, by the store's own clock: it
	// ended now, and took Duration.
	RecordPass(ctx context.Context, p Pass) error
	// CountHeld counts the records that wait for an operator.
	CountHeld(ctx context.Context) (int64, error)
}

// HeldUnknown stands in [Pass].Held where the records were not counted.
const HeldUnknown = -1

// Pass is one pass of an [Evictor].
type Pass struct {
	// ID correlates what was logged of the pass with what the store keeps of it.
	ID string
	// Removed is how many records the pass removed, in how many Batches.
	Removed, Batches int
	// More: MaxBatches ended the pass, or its context did, and there may be more to
	// remove.
	More bool
	// Duration is how long it took.
	Duration time.Duration
	// Held is how many records wait for an operator; HeldUnknown where the store
	// does not tell, or the pass failed before they were counted.
	Held int64
	// Err is what ended the pass early. What was removed before stays removed.
	Err error
}

// attrs are the pass as a structured event.
func (p Pass) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("CorrelationID", p.ID), slog.Int("Removed", p.Removed), slog.Int("Batches", p.Batches),
		slog.Bool("More", p.More), slog.Duration("Duration", p.Duration),
	}
	if p.Held != HeldUnknown {
		attrs = append(attrs, slog.Int64("Held", p.Held))
	}
	if p.Err != nil {
		attrs = append(attrs, slog.Any("Error", p.Err))
	}
	return attrs
}
