package pgstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// row is what the statements of these tests carry.
type row struct {
	key   string
	bytes int
}

// desk carries out groups as its script says, and keeps what it was given.
type desk struct {
	mu      sync.Mutex
	batches [][]string // the keys of each group, those of one queue after those of another
	do      func(ctx context.Context, batch int, keys []string) error
}

// prepare makes a statement that send understands.
func (d *desk) prepare(rows []row, answers []string) statement {
	keys := column(rows, func(r *row) string { return r.key })
	return statement{args: func(bool) []any { return []any{keys} }, then: func(context.Context) error {
		for i, key := range keys {
			answers[i] = "answer to " + key
		}
		return nil
	}}
}

// badRow is an error of the script that belongs to one of the statements.
type badRow struct {
	key string
	error
}

func (e badRow) Unwrap() error { return e.error }

func (d *desk) send(ctx context.Context, statements []statement) (failed int, err error) {
	var keys []string
	for _, q := range statements {
		keys = append(keys, q.args(false)[0].([]string)...)
	}
	d.mu.Lock()
	n := len(d.batches)
	d.batches = append(d.batches, keys)
	d.mu.Unlock()
	if d.do == nil {
		return whole, nil
	}
	err = d.do(ctx, n, keys)
	var bad badRow
	if errors.As(err, &bad) {
		return slices.IndexFunc(statements, func(q statement) bool { return slices.Contains(q.args(false)[0].([]string), bad.key) }), err
	}
	return whole, err
}

// queues returns so many kinds of calls that share groups.
func (d *desk) queues(o Options, n int) []kind[row, string] {
	t := newCommitter(o.withDefaults(), d.send)
	kinds := make([]kind[row, string], n)
	for i := range kinds {
		kinds[i] = gathered(t, d.prepare, func(r *row) string { return r.key }, func(r *row) int { return r.bytes }, func(r row) row { return r })
	}
	return kinds
}

func (d *desk) kind(o Options) kind[row, string] { return d.queues(o, 1)[0] }

// calls shares each of the keys in a call of its own, in this order, and returns
// a function that waits for their errors. It runs in a bubble.
func calls(share sharing[row, string], rows ...row) func() []error {
	errs := make([]error, len(rows))
	var group sync.WaitGroup
	for i, r := range rows {
		group.Go(func() {
			answers, failed := share(context.Background(), []row{r})
			if errs[i] = failed[0]; errs[i] == nil && answers[0] != "answer to "+r.key {
				errs[i] = errors.New(r.key + " was given the " + answers[0])
			}
		})
		synctest.Wait()
	}
	return func() []error { group.Wait(); return errs }
}

func keys(names ...string) []row {
	rows := make([]row, len(names))
	for i, name := range names {
		rows[i].key = name
	}
	return rows
}

// oneGroup has calls gather as soon as one is under way.
var oneGroup = Options{BatchesInFlight: 1}

func TestCallsGather(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		options Options
		rows    []row
		want    [][]string
	}{
		"while one group is under way, and go together": {
			options: oneGroup, rows: keys("a", "b", "c", "d"), want: [][]string{{"a"}, {"b", "c", "d"}},
		},
		"up to the size of a batch": {
			options: Options{BatchSize: 2, BatchesInFlight: 1}, rows: keys("a", "b", "c", "d"), want: [][]string{{"a"}, {"b", "c"}, {"d"}},
		},
		"not at all where each is to go alone": {
			options: Options{BatchSize: 1}, rows: keys("a", "b", "c"), want: [][]string{{"a"}, {"b"}, {"c"}},
		},
		"up to the bytes of a batch, and one that is larger goes alone": {
			options: oneGroup,
			rows:    []row{{"a", 0}, {"b", batchBytes / 2}, {"c", batchBytes / 2}, {"d", 1}, {"e", batchBytes * 2}, {"f", 0}},
			want:    [][]string{{"a"}, {"b", "c"}, {"d"}, {"e"}, {"f"}},
		},
		"while two are under way, if so many may be": {
			rows: keys("a", "b", "c", "d"), want: [][]string{{"a"}, {"b"}, {"c", "d"}},
		},
		"but never two of one key, which keep their order": {
			options: oneGroup, rows: keys("a", "b", "b", "c", "b"), want: [][]string{{"a"}, {"b", "c"}, {"b"}, {"b"}},
		},
		"but wait for a call of their key that is under way": {
			rows: keys("a", "a", "b"), want: [][]string{{"a"}, {"b"}, {"a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				d := &desk{do: func(context.Context, int, []string) error { <-gate; return nil }}
				wait := calls(d.kind(c.options).share, c.rows...)
				close(gate)
				require.NoError(t, errors.Join(wait()...))
				require.Equal(t, c.want, d.batches)
			})
		})
	}

	t.Run("and large ones do not travel with other kinds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			d := &desk{do: func(context.Context, int, []string) error { <-gate; return nil }}
			queues := d.queues(oneGroup, 3)
			var waits []func() []error
			for i, rows := range [][]row{
				{{"first", 0}},
				{{"a", 0}, {"b", 0}},
				{{"small", jointBytes}, {"one more", 1}, {"large", jointBytes + 1}},
			} {
				waits = append(waits, calls(queues[i].share, rows...))
			}
			close(gate)
			for _, wait := range waits {
				require.NoError(t, errors.Join(wait()...))
			}
			require.Equal(t, [][]string{{"first"}, {"a", "b", "small"}, {"one more", "large"}}, d.batches)
		})
	})

	t.Run("only with what others have queued: a lone call waits for nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			d := &desk{}
			share := d.kind(Options{}).share
			for i := range 3 {
				_, errs := share(t.Context(), keys(strconv.Itoa(i)))
				require.NoError(t, errs[0])
			}
			require.Zero(t, time.Since(begun))
			require.Len(t, d.batches, 3)
		})
	})

	t.Run("and a call of many rows gets the answer of each", func(t *testing.T) {
		t.Parallel()
		d := &desk{}
		answers, errs := d.kind(Options{BatchSize: 2}).share(t.Context(), keys("a", "b", "c"))
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, []string{"answer to a", "answer to b", "answer to c"}, answers)
	})
}

func TestGatheredCallsDoNotShareTheirTroubles(t *testing.T) {
	t.Parallel()
	t.Run("who leaves is answered at once, what was queued is dropped, and the others are carried out", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			d := &desk{do: func(ctx context.Context, _ int, _ []string) error {
				select {
				case <-gate:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
			share := d.kind(oneGroup).share
			waitFirst := calls(share, keys("first")...)
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 2)
			for _, key := range []string{"leaver", "leaver too"} {
				go func() {
					_, errs := share(ctx, keys(key))
					left <- errs[0]
				}()
			}
			synctest.Wait()
			wait := calls(share, keys("stays")...)
			gate <- struct{}{} // the batch of three takes off
			synctest.Wait()
			last := make(chan error, 1)
			go func() {
				_, errs := share(ctx, keys("queued"))
				last <- errs[0]
			}()
			synctest.Wait()
			leave()
			require.ErrorIs(t, <-left, context.Canceled)
			require.ErrorIs(t, <-left, context.Canceled)
			require.ErrorIs(t, <-last, context.Canceled)
			close(gate)
			require.NoError(t, errors.Join(append(wait(), waitFirst()...)...))
			require.Len(t, d.batches, 2, "the queued call of who has left is not carried out")
			require.ElementsMatch(t, []string{"leaver", "leaver too", "stays"}, d.batches[1])
		})
	})

	t.Run("one bad row fails alone", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			d := &desk{do: func(_ context.Context, _ int, keys []string) error {
				<-gate
				if slices.Contains(keys, "bad") {
					return &pgconn.PgError{Code: "22003"}
				}
				return nil
			}}
			desk := d.kind(oneGroup)
			whole := func(ctx context.Context, rows []row) ([]string, []error) {
				return carryRows(ctx, rows, desk)
			}
			wait := calls(whole, keys("a", "b", "bad", "c")...)
			close(gate)
			errs := wait()
			require.NoError(t, errors.Join(errs[0], errs[1], errs[3]))
			require.Equal(t, "22003", sqlState(errs[2]))
		})
	})

	for name, err := range map[string]error{
		"that the database refuses":  &pgconn.PgError{Code: "22003"},
		"whose record is unreadable": scanError{errAnswer},
		"that is locked":             &pgconn.PgError{Code: codeLockTimeout},
	} {
		t.Run("a row "+name+" does not keep another kind from going together", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				d := &desk{do: func(_ context.Context, n int, keys []string) error {
					<-gate
					if slices.Contains(keys, "bad") && n < 3 {
						return badRow{"bad", err}
					}
					return nil
				}}
				queues := d.queues(oneGroup, 2)
				var waits []func() []error
				for i, names := range [][]string{{"first"}, {"bad", "a"}, {"b", "c"}} {
					waits = append(waits, calls(func(ctx context.Context, rows []row) ([]string, []error) {
						return carryRows(ctx, rows, queues[i/2])
					}, keys(names...)...))
				}
				close(gate)
				for _, wait := range waits {
					require.NoError(t, errors.Join(wait()...))
				}
				require.Equal(t, [][]string{{"first"}, {"bad", "a", "b", "c"}, {"b", "c"}}, d.batches[:3])
				require.ElementsMatch(t, [][]string{{"bad"}, {"a"}}, d.batches[3:])
			})
		})
	}

	t.Run("a lost connection fails no row, and those that shared it gather again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			d := &desk{do: func(_ context.Context, n int, _ []string) error {
				<-gate
				if n == 1 {
					return &pgconn.PgError{Code: "57P01"}
				}
				return nil
			}}
			desk := d.kind(oneGroup)
			whole := func(ctx context.Context, rows []row) ([]string, []error) {
				return carryRows(ctx, rows, desk)
			}
			wait := calls(whole, keys("a", "b", "c")...)
			close(gate)
			require.NoError(t, errors.Join(wait()...))
			require.Equal(t, []string{"b", "c"}, d.batches[1])
		})
	})

	t.Run("a statement that hangs keeps the others waiting for a moment only, but not those of its keys", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun, gate := time.Now(), make(chan struct{})
			d := &desk{do: func(_ context.Context, _ int, keys []string) error {
				if keys[0] == "hangs" {
					<-gate
				}
				return nil
			}}
			share := d.kind(oneGroup).share
			waitHanging := calls(share, keys("hangs", "hangs")...)
			wait := calls(share, keys("a", "b")...)
			require.NoError(t, errors.Join(wait()...))
			require.Equal(t, stalledAfter, time.Since(begun))
			require.Equal(t, [][]string{{"hangs"}, {"a", "b"}}, d.batches)
			close(gate)
			require.NoError(t, errors.Join(waitHanging()...))
			require.Len(t, d.batches, 3)
		})
	})
}

func TestNoContextHarmsItsCallerOnly(t *testing.T) {
	t.Parallel()
	s, _ := requireOwnStore(t)
	require.Panics(t, func() { _, _ = s.Reserve(nil, []store.Reservation{newReservation("a")}) }) //nolint:staticcheck // that is it
	_, err := s.Reserve(t.Context(), []store.Reservation{newReservation("b")})
	require.NoError(t, err)
}

// reused is a context that a framework uses again once its handler has returned.
type reused struct {
	atomic.Pointer[context.Context]
}

func (r *reused) Err() error                  { return (*r.Load()).Err() }
func (r *reused) Done() <-chan struct{}       { return (*r.Load()).Done() }
func (r *reused) Deadline() (time.Time, bool) { return (*r.Load()).Deadline() }
func (r *reused) Value(key any) any           { return (*r.Load()).Value(key) }

func TestWhoHasLeftIsDroppedWhateverBecomesOfItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		d := &desk{do: func(context.Context, int, []string) error { <-gate; return nil }}
		share := d.kind(oneGroup).share
		var group sync.WaitGroup
		group.Go(func() { share(t.Context(), keys("first")) })
		synctest.Wait()
		request, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var r reused
		r.Store(&request)
		_, errs := share(&r, keys("leaver"))
		require.ErrorIs(t, errs[0], context.DeadlineExceeded)
		next := t.Context()
		r.Store(&next)
		close(gate)
		group.Wait()
		_, errs = share(t.Context(), keys("last"))
		require.NoError(t, errs[0])
		require.Equal(t, [][]string{{"first"}, {"last"}}, d.batches)
	})
}
