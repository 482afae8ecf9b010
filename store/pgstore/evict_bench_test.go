package pgstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// clones makes n copies of a record, whose retention has been over for as many
// milliseconds as the copy's number says, and a second.
const clones = `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', $1 || n,
	'expires_at', now() - interval '1 s' - n * interval '1 ms'))).* FROM idempotency_records r, generate_series(1, $2) n WHERE r.key = $1`

// BenchmarkEvictBehindHeldRecords measures one batch of a pass while records
// that must not go stand before those that may: each batch would walk past them.
func BenchmarkEvictBehindHeldRecords(b *testing.B) {
	for _, held := range []int{0, 100_000} {
		b.Run(strconv.Itoa(held), func(b *testing.B) {
			s := setup(b, pgstore.Options{CallTimeout: time.Minute})
			stuck, free := reservation("held"), reservation("free")
			insert(b, s.store, stuck, free)
			hold := settlement(stuck, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})
			_, err := s.store.Settle(b.Context(), []store.Settlement{hold, complete(free, "paid")})
			require.NoError(b, err)
			execute(b, s.pool, clones, "held", held)
			execute(b, s.pool, `UPDATE idempotency_records SET expires_at = expires_at - interval '1 day' WHERE key LIKE 'held_%'`)
			execute(b, s.pool, `VACUUM ANALYZE idempotency_records`)
			left := 0
			for b.Loop() {
				if left == 0 {
					b.StopTimer()
					left = 20
					execute(b, s.pool, clones, "free", left*1000)
					b.StartTimer()
				}
				n, err := s.store.Evict(b.Context(), 1000)
				require.NoError(b, err)
				require.Equal(b, 1000, n)
				left--
			}
		})
	}
}

// BenchmarkPlateau inserts, completes and evicts a million records
// (DEDUPE_PLATEAU_ROWS) that are kept for ten seconds, 4,000 a second
// (DEDUPE_PLATEAU_RATE), and prints how large the table and its indexes are
// meanwhile. The work is the same however often it is asked for: -benchtime 1x.
func BenchmarkPlateau(b *testing.B) {
	rows, rate := fromEnv("DEDUPE_PLATEAU_ROWS", 1_000_000), fromEnv("DEDUPE_PLATEAU_RATE", 4_000)
	for b.Loop() {
		s := setup(b, pgstore.Options{CallTimeout: time.Minute})
		evicted := make(chan int)
		total := 0
		go func() { defer close(evicted); evictUntil(b.Context(), s.store, evicted, rows) }()
		fmt.Printf("%9s %9s %9s %8s %8s %9s %9s\n", "seconds", "inserted", "evicted", "rows", "dead", "table MB", "index MB") //nolint:forbidigo // shown while it runs, which takes minutes
		begun, shown := time.Now(), time.Now()
		for inserted := 0; inserted < rows; inserted += plateauBatch {
			next := time.After(plateauBatch * time.Second / time.Duration(rate)) // what is late is not made up for
			insertCompleted(b, s.store, inserted)
			for due := next; due != nil; {
				select {
				case n := <-evicted:
					total += n
				case <-due:
					due = nil
				}
			}
			if time.Since(shown) > 10*time.Second {
				shown = time.Now()
				printSizes(b, s, begun, inserted+plateauBatch, total)
			}
		}
		for n := range evicted {
			total += n
		}
		printSizes(b, s, begun, rows, total)
		require.Equal(b, rows, total)
	}
}

const (
	plateauBatch     = 200
	plateauRetention = 10 * time.Second
)

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// insertCompleted adds a batch of records whose keys grow in no direction, as
// workflow IDs do not.
func insertCompleted(b *testing.B, s store.Store, from int) {
	b.Helper()
	var rs []store.Reservation
	var ss []store.Settlement
	for i := range plateauBatch {
		r := reservation(fmt.Sprintf("w/default/order-%08x/0/ChargePayment/1", uint32(from+i)*2654435761))
		r.Lease, r.Retention = plateauRetention/2, plateauRetention
		rs = append(rs, r)
		ss = append(ss, complete(r, "a result of some length, as a payload has it, with its metadata and all"))
	}
	insert(b, s, rs...)
	settle(b, s, ss...)
}

// evictUntil makes a pass each second until so many records are gone.
func evictUntil(ctx context.Context, s store.Store, evicted chan<- int, want int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e, err := store.NewEvictor(s, store.EvictorOptions{
		Interval: time.Second, Logger: slog.New(slog.DiscardHandler), OnPass: func(p store.Pass) {
			evicted <- p.Removed
			if want -= p.Removed; want <= 0 {
				stop()
			}
		},
	})
	if err == nil {
		e.Run(ctx)
	}
}

func printSizes(b *testing.B, s bundle, begun time.Time, inserted, evicted int) {
	b.Helper()
	const mb = 1 << 20
	//nolint:forbidigo // shown while it runs, which takes minutes
	fmt.Printf("%9.0f %9d %9d %8d %8d %9.1f %9.1f\n", time.Since(begun).Seconds(), inserted, evicted,
		value[int](b, s.pool, `SELECT count(*) FROM idempotency_records`),
		value[int](b, s.pool, `SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'idempotency_records'`),
		float64(value[int64](b, s.pool, `SELECT pg_table_size('idempotency_records')`))/mb,
		float64(value[int64](b, s.pool, `SELECT pg_indexes_size('idempotency_records')`))/mb)
}
