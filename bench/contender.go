package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/pgbench"
	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// contender has its turn in an experiment.
type contender struct {
	by     string
	schema string
	// run is one turn; child is what a child process of it computed.
	run func(ctx context.Context, callers int, d time.Duration) (t tally, child time.Duration, err error)
}

// library is a contender that does one thing with a store again and again.
func (b *bench) library(v variant, schema string, once func(ctx context.Context, s *pgstore.Store) error) contender {
	return contender{v.by, schema, func(ctx context.Context, callers int, d time.Duration) (tally, time.Duration, error) {
		s, closeStore, err := v.open(ctx, b, schema)
		if err != nil {
			return tally{}, 0, err
		}
		defer closeStore()
		t, err := newMeter(callers, d).run(ctx, func(ctx context.Context, l *lap) error {
			for l.next() {
				if err := once(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		return t, 0, err
	}}
}

// pgbench is a contender that runs a script.
func (b *bench) pgbench(schema, script string) contender {
	return contender{report.PgBench, schema, func(ctx context.Context, callers int, d time.Duration) (tally, time.Duration, error) {
		o, err := pgbench.Run(ctx, pgbench.Options{
			Path: b.server.pgbench, URL: b.server.cluster.URL(), Schema: schema, Script: script, Clients: callers, Duration: d,
		})
		return tally{rate: o.Rate, total: o.Runs}, o.CPU, err
	}}
}

// cycle is a call that is new: it is reserved and completed.
func cycle(ctx context.Context, s *pgstore.Store) error {
	r := reservation(rand.Int64())
	found, err := s.Reserve(ctx, []store.Reservation{r})
	if err != nil {
		return err
	}
	if !found[0].Inserted {
		return fmt.Errorf("key %q was not new", r.Key)
	}
	return complete(ctx, s, r)
}

func complete(ctx context.Context, s *pgstore.Store, r store.Reservation) error {
	settled, err := s.Settle(ctx, []store.Settlement{completion(r)})
	if err != nil {
		return err
	}
	if settled[0] != store.SettledApplied {
		return fmt.Errorf("key %q: the completion was answered with %v", r.Key, settled[0])
	}
	return nil
}

// replay is a retry whose answer is there, one of the first n.
func replay(n int) func(ctx context.Context, s *pgstore.Store) error {
	return func(ctx context.Context, s *pgstore.Store) error {
		r := reservation(1 + rand.Int64N(int64(n)))
		r.Attempt = 2
		found, err := s.Reserve(ctx, []store.Reservation{r})
		if err == nil && (!found[0].Exists || found[0].Record.Status != store.StatusCompleted) {
			err = fmt.Errorf("key %q is not completed", r.Key)
		}
		return err
	}
}

// cycleScript does with single rows what a cycle does.
var cycleScript = `\set n random(1, 9000000000000000000)
` + oneLine(insertSQL(":n", "in_progress", "clock_timestamp() + interval '7 days'", "clock_timestamp() + interval '30 seconds'", "NULL::bytea", "")) + ` ON CONFLICT (key) DO NOTHING;
UPDATE idempotency_records SET updated_at = clock_timestamp(), status = 'completed', effect_possible = false, result_size = ` + fmt.Sprint(len(result)) + `, response_body = ` + resultSQL + ` WHERE key = ` + keySQL(":n") + ` AND owner_token = md5((:n)::text)::uuid;
`

// readScript reads what a replay needs, one row by its key.
func readScript(rows int) string {
	return fmt.Sprintf(`\set n random(1, %d)
SELECT status, request_hash, lineage, invocation, owner_token, response_body FROM idempotency_records WHERE key = %s;
`, rows, keySQL(":n"))
}

// oneLine joins lines: pgbench reads a statement up to its semicolon, and prints
// it when something is wrong with it.
func oneLine(sql string) string { return strings.Join(strings.Fields(sql), " ") }
