package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// checkSweep asks when the last eviction ended. A table without such a pass is
// new until it holds a record that has seen many.
func checkSweep(ctx context.Context, e *exam) ([]string, error) {
	var swept, oldest *int64
	if err := e.row(ctx, sweepSQL, nil, &swept, &oldest); err != nil {
		return nil, err
	}
	limit := e.options.MaxSweepAge
	switch {
	case swept != nil && micros(*swept) > limit:
		return []string{fmt.Sprintf("the last eviction ended %v ago", rounded(*swept))}, nil
	case swept == nil && oldest != nil && micros(*oldest) > limit:
		return []string{fmt.Sprintf("no eviction has ever ended, and the oldest record is %v old", rounded(*oldest))}, nil
	}
	return nil, nil
}

func checkExpired(ctx context.Context, e *exam) ([]string, error) {
	var kept int64
	err := e.row(ctx, expiredSQL, []any{e.options.MaxSweepAge.Microseconds()}, &kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("the oldest record that may go has been kept %v beyond its retention", rounded(kept))}, nil
}

func checkAutovacuum(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, autovacuumSQL, e.tables.records)
}

// From here on autovacuum, which begins at 50 rows and a fiftieth of the table,
// is far behind; what one minute's evictions leave stays below.
const (
	manyDeadRows  = 50_000
	liveToDeadRow = 5
)

func checkDeadRows(ctx context.Context, e *exam) ([]string, error) {
	var live, dead int64
	if err := e.row(ctx, deadRowsSQL, []any{e.tables.records}, &live, &dead); err != nil {
		return nil, err
	}
	if dead < manyDeadRows || dead < live/liveToDeadRow {
		return nil, nil
	}
	return []string{fmt.Sprintf("%d dead rows beside %d live ones", dead, live)}, nil
}

func checkLongTransactions(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, longTransactionsSQL, e.options.StuckAfter.Microseconds())
}

func checkSize(ctx context.Context, e *exam) ([]string, error) {
	var table, indexes, heap int64
	if err := e.row(ctx, sizeSQL, []any{e.tables.records}, &table, &indexes, &heap); err != nil {
		return nil, err
	}
	if table+indexes <= e.options.MaxBytes {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s takes %s and its indexes %s, together more than %s",
		e.tables.records, bytes(table), bytes(indexes), bytes(e.options.MaxBytes))}, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func rounded(n int64) time.Duration { return micros(n).Round(time.Second) }

// bytes writes a size for people.
func bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
