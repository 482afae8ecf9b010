package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Benchmark measures what every call pays: a first run, which is a reservation
// and a completion, and a replay. Each is measured alone and with 64 callers.
func Benchmark(b *testing.B, factory func(b *testing.B) store.Store) {
	b.Helper()
	for _, measured := range []struct {
		name      string
		operation func(ctx context.Context, s store.Store, n int64) error
	}{
		{"FirstRun", firstRun},
		{"Replay", replay},
	} {
		b.Run(measured.name, func(b *testing.B) {
			s := factory(b)
			for n := range replayed {
				require.NoError(b, firstRun(b.Context(), s, n))
			}
			var n atomic.Int64
			n.Store(replayed)
			b.ReportAllocs()
			for b.Loop() {
				if err := measured.operation(b.Context(), s, n.Add(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(measured.name+"With64Callers", func(b *testing.B) {
			s := factory(b)
			for n := range replayed {
				require.NoError(b, firstRun(b.Context(), s, n))
			}
			var n atomic.Int64
			n.Store(replayed)
			b.ReportAllocs()
			b.SetParallelism(64)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := measured.operation(b.Context(), s, n.Add(1)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func benchmarkReservation(n int64) store.Reservation {
	return store.Reservation{
		Key:       fmt.Sprintf("default/order-42/ChargePayment/%d", n),
		Hashes:    []string{"v1:s1:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		Token:     store.NewToken(),
		Lease:     100 * time.Millisecond,
		Retention: 200 * time.Millisecond, // a bounded store must find room
		Policy:    store.Reexecute,
		Origin: store.Origin{
			Lineage: "run", Invocation: fmt.Sprintf("run/5/%d", n), Namespace: "default", WorkflowID: "order-42",
			RunID: "run", ActivityID: "5", ActivityType: "ChargePayment", ScheduledAt: time.Unix(1_700_000_000, 0),
			Attempt: 1, Owner: "4711@host",
		},
	}
}

func firstRun(ctx context.Context, s store.Store, n int64) error {
	r := benchmarkReservation(n)
	c, err := store.Claim(ctx, s, r)
	if err != nil {
		return err
	}
	if c.Action != store.ActAcquire {
		return fmt.Errorf("dedupe: a new key was answered with %v", c.Action)
	}
	got, err := s.Settle(ctx, []store.Settlement{{
		Key: r.Key, Token: r.Token, Outcome: store.OutcomeComplete, Result: make([]byte, 200), ResultSize: 200,
	}})
	if err == nil && got[0] != store.SettledApplied {
		err = fmt.Errorf("dedupe: a completion was answered with %v", got[0])
	}
	return err
}

// replayed is how many keys replays take turns at.
const replayed int64 = 256

func replay(ctx context.Context, s store.Store, n int64) error {
	c, err := store.Claim(ctx, s, benchmarkReservation(n%replayed))
	if err == nil && c.Action != store.ActReplay {
		err = fmt.Errorf("dedupe: a completed key was answered with %v", c.Action)
	}
	return err
}
