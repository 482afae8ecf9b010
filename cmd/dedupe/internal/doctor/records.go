package doctor

import (
	"context"
	"fmt"
	"time"
)

// tally is what one look at the records found.
type tally struct {
	overlong, stuck, unresolved group
	share                       float64 // of the table that was looked at, in percent
}

// group is records of one kind: how many, and the key of one of them.
type group struct {
	count int64
	key   string
}

// sample returns the share of the table to look at, in percent.
func (e *exam) sample(ctx context.Context) (float64, error) {
	var table, indexes, heap int64
	if err := e.row(ctx, sizeSQL, []any{e.tables.records}, &table, &indexes, &heap); err != nil {
		return 0, err
	}
	if limit := e.options.SampleBytes; heap > limit {
		return 100 * float64(limit) / float64(heap), nil
	}
	return 100, nil
}

// count looks at the records once, for the checks below. It is not tried again
// for each of them: what took too long once does so three times.
func (e *exam) count(ctx context.Context) (*tally, error) {
	if e.tally == nil && e.tallyFault == nil {
		e.tally, e.tallyFault = e.look(ctx)
	}
	return e.tally, e.tallyFault
}

func (e *exam) look(ctx context.Context) (*tally, error) {
	share, err := e.sample(ctx)
	if err != nil {
		return nil, err
	}
	t := &tally{share: share}
	err = e.row(ctx, tallySQL, []any{e.options.StuckAfter.Microseconds(), share},
		&t.overlong.count, &t.overlong.key, &t.stuck.count, &t.stuck.key, &t.unresolved.count, &t.unresolved.key)
	if err != nil {
		return nil, fmt.Errorf("look at a sample of the records: %w", err)
	}
	return t, nil
}

// finding says how many records there are of a kind, or nothing.
func (t *tally) finding(g group, what string) []string {
	if g.count == 0 {
		return nil
	}
	text := fmt.Sprintf("%d records %s, such as %q", g.count, what, g.key)
	if t.share < 100 {
		text += fmt.Sprintf(" (in a sample of %.2g %% of the table)", t.share)
	}
	return []string{text}
}

func checkLeases(ctx context.Context, e *exam) ([]string, error) {
	t, err := e.count(ctx)
	if err != nil {
		return nil, err
	}
	return t.finding(t.overlong, "in progress have a lease that ends after their retention"), nil
}

func checkStuck(ctx context.Context, e *exam) ([]string, error) {
	t, err := e.count(ctx)
	if err != nil {
		return nil, err
	}
	return t.finding(t.stuck, fmt.Sprintf("are in progress, with a lease that ended more than %v ago", e.options.StuckAfter)), nil
}

func checkUnknownOutcomes(ctx context.Context, e *exam) ([]string, error) {
	var findings []string
	var held group
	var since time.Time
	if err := e.row(ctx, heldSQL, nil, &held.count, &since, &held.key); err != nil {
		return nil, err
	}
	if held.count > 0 {
		findings = append(findings, fmt.Sprintf("%d records are held for an operator, the oldest since %s, such as %q",
			held.count, since.UTC().Format(time.RFC3339), held.key))
	}
	t, err := e.count(ctx)
	if err != nil {
		return findings, err
	}
	return append(findings, t.finding(t.unresolved,
		fmt.Sprintf("under Refuse or Verify have an unknown outcome that nobody has asked for in %v", e.options.StuckAfter))...), nil
}
