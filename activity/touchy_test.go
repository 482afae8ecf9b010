package activity_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// touchy is a logger, Temporal's or the program's, that does something at a line.
type touchy struct {
	discard
	slog.Handler
	at string
	do func()
}

func (l touchy) Info(message string, _ ...any)  { l.line(message) }
func (l touchy) Warn(message string, _ ...any)  { l.line(message) }
func (l touchy) Error(message string, _ ...any) { l.line(message) }

func (l touchy) Enabled(context.Context, slog.Level) bool { return true }

func (l touchy) Handle(_ context.Context, r slog.Record) error {
	l.line(r.Message)
	return nil
}

func (l touchy) line(message string) {
	if strings.Contains(message, l.at) {
		l.do()
	}
}

// trouble are the ways in which a logger can fail to return. What hangs does so
// until the test lets it go.
func trouble() (ways map[string]func(), release func()) {
	leave := make(chan struct{})
	return map[string]func(){
		"hangs": func() { <-leave }, "panics": func() { panic("disk full") }, "ends its goroutine": runtime.Goexit,
	}, func() { close(leave) }
}

func TestALoggerThatFailsBeforeTheBodyLeavesNoLeaseBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"by a panic": func() { panic("disk full") }, "by Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			endings["dies after the effect"](b, new([]activity.ProviderKey))
			b.log = touchy{at: "took the call over", do: end}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = b.run(1, func(context.Context) error { panic("the body ran") })
			}()
			<-ended
			require.Zero(t, b.interceptor.KeptLeases())
			require.Equal(t, 2, b.record("1").Acquisitions)
			require.False(t, b.leaseLive("1"))
		})
	}
}

// Whatever a logger does on a goroutine of ours, it ends neither the process nor
// anybody's lease.
func TestALoggerThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"hangs", "panics", "ends its goroutine"} {
		run := func(name string, do func(t *testing.T, fail func())) {
			t.Run("when it "+way+" at "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ways, release := trouble()
					defer release()
					do(t, ways[way])
				})
			})
		}

		run("a renewal that failed, costs no lease and holds back no other call", func(t *testing.T, fail func()) {
			s, lines := unreliable(t), atomic.Int32{}
			s.hang.Store(2)
			log := touchy{at: "could not be renewed", do: func() { lines.Add(1); fail() }}
			b := setup(t, withStore(s), func(o *activity.Options) { o.Logger = slog.New(log) })
			_, err := b.run(1, func(context.Context) error {
				for range 60 {
					time.Sleep(time.Second) //nolint:forbidigo // fake clock
					require.True(t, b.leaseLive("1"))
				}
				_, err := b.run(2, func(context.Context) error { return nil })
				return err
			})
			require.NoError(t, err)
			require.EqualValues(t, map[bool]int{true: 1, false: 2}[way == "hangs"], lines.Load(), "lines do not pile up")
		})

		run("a lease that is lost, lets the body hear of it and the others keep theirs", func(t *testing.T, fail func()) {
			b, lines, other := setup(t), atomic.Int32{}, make(chan error)
			b.log = touchy{at: "lease lost", do: func() { lines.Add(1); fail() }}
			_, err := b.run(1, func(ctx context.Context) error {
				go func() {
					_, err := b.run(2, func(context.Context) error { time.Sleep(2 * time.Minute); return nil }) //nolint:forbidigo // fake clock
					other <- err
				}()
				heir := b.takeOver()
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), activity.ErrLeaseLost)
				_, err := b.store.Settle(context.Background(), []store.Settlement{{Key: heir.Key, Token: heir.Token, Outcome: store.OutcomeComplete, Result: []byte{}}})
				return err
			})
			require.NoError(t, err)
			require.NoError(t, <-other)
			require.Equal(t, 1, b.record("2").Acquisitions)
			require.EqualValues(t, 1, lines.Load())
		})

		run("a body that is abandoned, keeps the lease of no other", func(t *testing.T, fail func()) {
			lines, leave, left := atomic.Int32{}, make(chan struct{}), make(chan struct{})
			log := touchy{at: "body abandoned", do: func() { lines.Add(1); fail() }}
			b := setup(t, withPolicy(activity.Policy{MaxOverrun: time.Minute}), func(o *activity.Options) { o.Logger = slog.New(log) })
			go func() {
				defer close(left)
				_, _ = b.run(1, func(context.Context) error { <-leave; return nil })
			}()
			time.Sleep(10 * time.Minute)                                                                //nolint:forbidigo // fake clock: start-to-close
			_, err := b.run(2, func(context.Context) error { time.Sleep(5 * time.Minute); return nil }) //nolint:forbidigo // fake clock
			require.NoError(t, err)
			require.EqualValues(t, 1, lines.Load())
			require.False(t, b.leaseLive("1"))
			require.Equal(t, 1, b.record("2").Acquisitions)
			close(leave)
			<-left
		})
	}

	for _, way := range []string{"panics", "ends its goroutine"} {
		t.Run("when it "+way+" at a heartbeat that is skipped, sends the next one", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ways, release := trouble()
				defer release()
				b, p := setup(t), &pulse{wrong: func() { panic("no connection") }}
				b.log = touchy{at: "heartbeat skipped", do: ways[way]}
				require.NoError(t, p.after(t.Context(), b, 7*time.Second, func(context.Context) error { return nil }))
				require.Len(t, p.sent, 1)
			})
		})

		t.Run("when it "+way+" at a settlement in the background, ends nothing else", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ways, release := trouble()
				defer release()
				s := unreliable(t)
				b := setup(t, withStore(s))
				b.log = touchy{at: "could not be settled", do: ways[way]}
				_, err := b.run(1, func(context.Context) error { s.down.Store(true); return nil })
				require.NoError(t, err)
				require.NoError(t, b.interceptor.Drain(t.Context()))
				require.Zero(t, b.interceptor.KeptLeases())
			})
		})
	}
}
