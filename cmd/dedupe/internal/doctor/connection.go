package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// checkDatabase connects. pgx keeps the password out of its connection errors.
func checkDatabase(ctx context.Context, e *exam) ([]string, error) {
	var one int
	err := e.row(ctx, pingSQL, nil, &one)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return []string{fmt.Sprintf("no answer from %s within %v", e.addresses(), e.options.Timeout)}, nil
	case err != nil:
		return refused(err), nil
	}
	e.reached = true
	return nil, nil
}

// addresses are where the URL leads to.
func (e *exam) addresses() string {
	config := e.config.ConnConfig
	all := []string{fmt.Sprintf("%s:%d", config.Host, config.Port)}
	for _, f := range config.Fallbacks { // also the same host without TLS
		if address := fmt.Sprintf("%s:%d", f.Host, f.Port); !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return strings.Join(all, " and ")
}

// refused makes a finding of an error that is what the check looks for.
func refused(err error) []string { return []string{err.Error()} }

func checkPrimary(ctx context.Context, e *exam) ([]string, error) {
	var standby bool
	if err := e.row(ctx, recoverySQL, nil, &standby); err != nil || !standby {
		return nil, err
	}
	return []string{"the server is a standby (pg_is_in_recovery): it takes no writes"}, nil
}

func checkReadOnly(ctx context.Context, e *exam) ([]string, error) {
	var readOnly bool
	if err := e.row(ctx, readOnlySQL, nil, &readOnly); err != nil || !readOnly {
		return nil, err
	}
	return []string{"default_transaction_read_only is on for this session"}, nil
}

// checkPooler tries what the store does at its start, with the workers' own
// exec mode.
func checkPooler(ctx context.Context, e *exam) ([]string, error) {
	config := e.config.Copy()
	config.MaxConns, config.MinConns, config.MinIdleConns = 2, 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	err = pgstore.CheckPooler(ctx, pool)
	if errors.Is(err, pgstore.ErrSessionsMixed) {
		return []string{fmt.Sprintf("the query exec mode %s does not work behind the transaction pooler at %s:%d",
			config.ConnConfig.DefaultQueryExecMode, config.ConnConfig.Host, config.ConnConfig.Port)}, nil
	}
	return nil, err
}

// clockSamples is how often the clocks are compared; the fastest answer counts.
const clockSamples = 5

// checkClock compares the database's clock with the middle of the time that its
// answer took. Half of that time is what the comparison may be wrong by.
func checkClock(ctx context.Context, e *exam) ([]string, error) {
	var ahead, doubt time.Duration
	err := e.within(ctx, func(tx pgx.Tx) error {
		for i := range clockSamples {
			var there time.Time
			before := time.Now()
			if err := tx.QueryRow(ctx, clockSQL).Scan(&there); err != nil {
				return err
			}
			took := time.Since(before)
			if i == 0 || took/2 < doubt {
				ahead, doubt = there.Sub(before.Add(took/2)), took/2
			}
		}
		return nil
	})
	if err != nil || ahead.Abs()-doubt <= e.options.MaxClockDifference {
		return nil, err
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return []string{fmt.Sprintf("the database's clock is %v %s this machine's (give or take %v)",
		ahead.Abs().Round(time.Millisecond), direction, doubt.Round(time.Microsecond))}, nil
}
