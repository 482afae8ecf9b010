package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestADriverThatPanicsStopsNobodyElse(t *testing.T) {
	t.Parallel()
	s := &Store{options: Options{CallTimeout: time.Minute}.withDefaults()}
	// A pool of the caller's, its tracer and its hooks run within the statements.
	endings := map[string]func(){
		"panics":         func() { panic("tracer") },
		"ends by Goexit": runtime.Goexit,
	}
	for name, end := range endings {
		t.Run("in the statement of a lone call, which "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &desk{do: func(_ context.Context, n int, _ []string) error {
					if n == 0 {
						end()
					}
					return nil
				}}
				share := d.sharing(Options{})
				ended := make(chan any)
				go func() {
					defer close(ended)
					defer func() {
						if value := recover(); value != nil {
							ended <- value
						}
					}()
					share(t.Context(), keys("a"))
				}()
				value, panicked := <-ended
				require.Equal(t, name == "panics", panicked, "the panic is the caller's: %v", value)
				begun := time.Now()
				require.NoError(t, errors.Join(calls(share, keys("a", "b", "c")...)()...))
				require.Zero(t, time.Since(begun), "nothing is under way any more")
			})
		})
		t.Run("in a statement of several calls, which "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				d := &desk{do: func(_ context.Context, n int, _ []string) error {
					<-gate
					if n == 1 {
						end()
					}
					return nil
				}}
				share := d.sharing(Options{})
				whole := func(ctx context.Context, rows []row) ([]string, []error) {
					return batch(ctx, s, rows, share, direct(d.carry))
				}
				wait := calls(whole, keys("a", "b", "c")...)
				close(gate)
				require.NoError(t, errors.Join(wait()...), "each goes by itself then, in its caller's goroutine")
				require.ElementsMatch(t, [][]string{{"a"}, {"b", "c"}, {"b"}, {"c"}}, d.batches)
				require.NoError(t, errors.Join(calls(whole, keys("b", "c")...)()...))
			})
		})
	}
}

func TestWhoHasLeftMayUseItsBuffersAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, written := make(chan struct{}), map[string]string{}
		do := func(_ context.Context, rows []store.Settlement) ([]store.Settled, error) {
			<-gate // for a connection of the pool
			for _, r := range rows {
				written[r.Key] = string(r.Result) + string(r.Failure)
			}
			return make([]store.Settled, len(rows)), nil
		}
		share := gathered(Options{}.withDefaults(), do, settlementKey, settlementBytes, cloneSettlement)
		first := make(chan struct{})
		go func() { defer close(first); share(t.Context(), []store.Settlement{{Key: "first"}}) }()
		synctest.Wait()

		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		result, failure := []byte("mine "), []byte("too")
		go func() {
			defer close(left)
			share(ctx, []store.Settlement{{Key: "leaver", Result: result, Failure: failure}})
		}()
		synctest.Wait()
		gate <- struct{}{} // the leaver's takes off
		synctest.Wait()
		leave()
		<-left
		copy(result, "yours")
		copy(failure, "not")
		close(gate)
		<-first
		synctest.Wait()
		require.Equal(t, "mine too", written["leaver"])
	})
}

// TestAnswersAreNeverCrossed has many callers share statements that fail, hang,
// panic and are left, and checks that every answer is to the caller's own row.
func TestAnswersAreNeverCrossed(t *testing.T) {
	t.Parallel()
	const callers, rounds, names = 24, 40, 30
	for _, o := range []Options{{}, {BatchSize: 3, BatchesInFlight: 3}, {BatchSize: 2}, {BatchSize: 10_000, BatchesInFlight: 64}} {
		synctest.Test(t, func(t *testing.T) {
			o := o.withDefaults()
			s := &Store{options: o}
			var mu sync.Mutex
			together := map[string]bool{} // keys in shared statements
			do := func(shared bool) func(context.Context, []store.Reservation) ([]string, error) {
				return func(ctx context.Context, rows []store.Reservation) ([]string, error) {
					if shared {
						mu.Lock()
						for _, r := range rows {
							if together[r.Key] {
								panic("two of one key at a time")
							}
							together[r.Key] = true
						}
						mu.Unlock()
						defer func() {
							mu.Lock()
							defer mu.Unlock()
							for _, r := range rows {
								delete(together, r.Key)
							}
						}()
					}
					pause := rand.N(5 * time.Millisecond)
					if rand.N(20) == 0 {
						pause = rand.N(2 * time.Second)
					}
					select {
					case <-time.After(pause):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					switch n := rand.N(20); {
					case n == 0:
						return nil, &pgconn.PgError{Code: codeDeadlock}
					case n == 1:
						return nil, &pgconn.PgError{Code: "57P01"}
					case n == 2 && shared && len(rows) > 1:
						return nil, &pgconn.PgError{Code: "22003"}
					}
					answers := make([]string, len(rows))
					for i, r := range rows {
						answers[i] = r.Key + " " + r.Token.String()
					}
					return answers, nil
				}
			}
			share := gathered(o, do(true), reservationKey, weightless[store.Reservation], cloneReservation)
			var all sync.WaitGroup
			answered := make([]int, callers)
			for n := range callers {
				all.Go(func() {
					for range rounds {
						rows := make([]store.Reservation, 0, 5)
						for _, k := range rand.Perm(names)[:1+rand.N(5)] {
							rows = append(rows, store.Reservation{Key: fmt.Sprint("key ", k), Token: store.NewToken()})
						}
						ctx, leave := context.WithCancel(t.Context())
						if rand.N(3) == 0 {
							time.AfterFunc(rand.N(20*time.Millisecond), leave)
						}
						ctx, cancel := context.WithTimeout(ctx, o.CallTimeout)
						answers, errs := batch(ctx, s, rows, share, direct(do(false)))
						for i, r := range rows {
							if errs[i] == nil {
								answered[n]++
								require.Equal(t, r.Key+" "+r.Token.String(), answers[i])
							} else if errors.Is(errs[i], errDivide) {
								require.Error(t, ctx.Err())
							}
						}
						cancel()
						leave()
					}
				})
			}
			all.Wait()
			time.Sleep(o.CallTimeout) //nolint:forbidigo // fake clock; the rows of who has left
			for n := range callers {
				require.Positive(t, answered[n])
			}
		})
	}
}
