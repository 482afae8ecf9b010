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
				share := d.kind(oneGroup).share
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
				desk := d.kind(oneGroup)
				whole := func(ctx context.Context, rows []row) ([]string, []error) {
					return carryRows(ctx, rows, desk)
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
		committer := newCommitter(oneGroup.withDefaults(), func(context.Context, []statement) (int, error) {
			<-gate // for a connection of the pool
			return whole, nil
		})
		share := gathered(committer, func(rows []store.Settlement, _ []store.Settled) statement {
			return statement{then: func(context.Context) error {
				for _, r := range rows {
					written[r.Key] = string(r.Result) + string(r.Failure)
				}
				return nil
			}}
		}, settlementKey, settlementBytes, cloneSettlement).share
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

// rough carries out statements that fail, hang and are left. Its statements have the
// keys of their rows as arguments.
type rough struct {
	mu    sync.Mutex
	under map[string]bool // keys in statements, with the name of their queue; nil to allow several of one
}

func (r *rough) send(ctx context.Context, statements []statement) (failed int, err error) {
	var keys []string
	for _, q := range statements {
		for _, key := range q.args(false) {
			keys = append(keys, q.sql+key.(string))
		}
	}
	if r.under != nil {
		r.enter(keys)
		defer r.leave(keys)
	}
	pause := rand.N(5 * time.Millisecond)
	if rand.N(20) == 0 {
		pause = rand.N(2 * time.Second)
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return whole, ctx.Err()
	}
	failed = rand.N(len(statements)+1) - 1
	switch n := rand.N(20); {
	case n == 0:
		return failed, &pgconn.PgError{Code: codeDeadlock}
	case n == 1:
		return failed, &pgconn.PgError{Code: "57P01"}
	case n == 2 && len(keys) > 1:
		return failed, &pgconn.PgError{Code: "22003"}
	}
	return whole, nil
}

func (r *rough) enter(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		if r.under[key] {
			panic("two of one key at a time")
		}
		r.under[key] = true
	}
}

func (r *rough) leave(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		delete(r.under, key)
	}
}

// queue is a kind of call whose answers name the queue, the key and the token.
func (r *rough) queue(t *committer, name string) kind[store.Reservation, string] {
	prepare := func(rows []store.Reservation, answers []string) statement {
		keys := column(rows, func(r *store.Reservation) any { return r.Key })
		return statement{sql: name, args: func(bool) []any { return keys }, then: func(context.Context) error {
			for i, row := range rows {
				answers[i] = name + row.Key + row.Token.String()
			}
			return nil
		}}
	}
	apart := newCommitter(Options{BatchSize: 1}.withDefaults(), new(rough).send)
	return kind[store.Reservation, string]{
		share: gathered(t, prepare, reservationKey, weightless[store.Reservation], cloneReservation).share,
		alone: gathered(apart, prepare, reservationKey, weightless[store.Reservation], cloneReservation).alone,
	}
}

// TestAnswersAreNeverCrossed has many callers of two kinds share groups that fail,
// hang and are left, and checks that every answer is to the caller's own row.
func TestAnswersAreNeverCrossed(t *testing.T) {
	t.Parallel()
	const callers, rounds, names = 24, 40, 30
	for _, o := range []Options{oneGroup, {}, {BatchSize: 3, BatchesInFlight: 3}, {BatchSize: 2}, {BatchSize: 10_000, BatchesInFlight: 64}} {
		synctest.Test(t, func(t *testing.T) {
			o := o.withDefaults()
			r := &rough{under: map[string]bool{}}
			committer := newCommitter(o, r.send)
			queues := map[string]kind[store.Reservation, string]{"reserved ": r.queue(committer, "reserved "), "settled ": r.queue(committer, "settled ")}
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
						for name, queue := range queues {
							answers, errs := carryRows(ctx, rows, queue)
							for i, row := range rows {
								if errs[i] == nil {
									answered[n]++
									require.Equal(t, name+row.Key+row.Token.String(), answers[i])
								} else if errors.Is(errs[i], errDivide) {
									require.Error(t, ctx.Err())
								}
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
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			require.Empty(t, r.under)
		})
	}
}
