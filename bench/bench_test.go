package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/bench/internal/report"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(localpgtest.StopAfter(m)) }

func TestMeter(t *testing.T) {
	t.Parallel()
	t.Run("what ends within the turn is counted, the warm-up is not", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			got, err := newMeter(3, 2*time.Second).run(t.Context(), func(_ context.Context, l *lap) error {
				for l.next() {
					time.Sleep(90 * time.Millisecond) //nolint:forbidigo // fake clock
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 3*28, got.total)
			require.Len(t, got.latencies, 3*22)
			require.InDelta(t, 33, got.rate, 0.001)
			require.InDelta(t, 90, got.p99(), 0.001)
		})
	})
	t.Run("a turn that ends early is as long as it was", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := newMeter(1, 4*time.Second)
			got, err := m.run(t.Context(), func(_ context.Context, l *lap) error {
				for n := 0; l.next(); n++ {
					if n == 30 {
						m.finish()
					}
					time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake clock
				}
				return nil
			})
			require.NoError(t, err)
			require.InDelta(t, 10, got.rate, 0.6)
		})
	})
	t.Run("the first error ends it", func(t *testing.T) {
		t.Parallel()
		fault := errors.New("fault")
		_, err := newMeter(2, time.Hour).run(t.Context(), func(ctx context.Context, l *lap) error {
			if l.next(); ctx.Err() == nil {
				return fault
			}
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, fault)
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parseFlags([]string{"-quick", "-rounds", "7", "-sizes", "10, 20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 7, o.rounds, "a flag counts more than -quick")
	require.Equal(t, numbers{10, 20}, o.sizes)
	require.Equal(t, 3, o.pairs)
	require.Equal(t, "1,8,64,256", o.values()["callers"])
	for name, args := range map[string][]string{
		"-sizes":               {"-sizes", "20,10"},
		"no positive number":   {"-callers", "0"},
		"-only":                {"-only", "everything"},
		"unexpected argument":  {"quick"},
		"-duration: want at l": {"-duration", "1ms"},
	} {
		_, err := parseFlags(args, io.Discard)
		require.ErrorContains(t, err, name)
	}
}

func TestTurnsMoveOn(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{0, 1, 2}, turns(3, 0))
	require.Equal(t, []int{2, 0, 1}, turns(3, 5))
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	got, err := parseStat("4711 (postgres: a) b) S 42 1 1 0 -1 4194560 9 8 7 6 100 20 3000 400 20 0 1 0")
	require.NoError(t, err)
	require.Equal(t, stat{pid: 4711, parent: 42, own: 1200 * time.Millisecond, ended: 34 * time.Second}, got)
	_, err = parseStat("nothing")
	require.Error(t, err)
}

func TestGoBenchmarks(t *testing.T) {
	t.Parallel()
	b := &bench{Results: &report.Results{}}
	const out = `goos: linux
BenchmarkExecution/FirstRun-2    53451    7665 ns/op    7460 B/op    38 allocs/op
BenchmarkExecution/FirstRun-2    53451    7700 ns/op    7460 B/op    38 allocs/op
BenchmarkExecution/Replay-2      74286    6991 ns/op    5296 B/op    30 allocs/op
BenchmarkFingerprint-2          194883    3140 ns/op     992 B/op    15 allocs/op
PASS
`
	require.NoError(t, b.addGoBenchmarks([]byte(out)))
	require.Equal(t, map[int]float64{0: 7665, 1: 7700}, b.Values(report.Point{What: report.Interceptor, By: report.Grouped}))
	require.Equal(t, map[int]float64{0: 15}, b.Values(report.Point{What: report.FingerprintAll, By: report.Grouped}))
	require.ErrorContains(t, b.addGoBenchmarks([]byte("PASS\n")), "did not run")
}

// Replays look for keys that SQL has made.
func TestKeysAreTheSameInGoAndInSQL(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), localpgtest.RequireDatabase(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var key string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+keySQL("4711")).Scan(&key))
	require.Equal(t, reservation(4711).Key, key)
	require.Len(t, key, 70)
}
