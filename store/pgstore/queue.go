package pgstore

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// kind is how calls of one kind are carried out: share has the rows of concurrent
// ones travel together, alone gives rows a statement of their own.
type kind[A, R any] struct {
	share, alone sharing[A, R]
}

// apart is a kind of call that shares nothing.
func apart[A, R any](do func(context.Context, []A) ([]R, error)) kind[A, R] {
	return kind[A, R]{dividing(direct(do)), direct(do)}
}

// gathered is a kind of call whose rows travel in the groups of a committer, in
// statements that prepare makes.
func gathered[A, R any](
	c *committer, prepare preparing[A, R], key func(*A) string, weight func(*A) int, clone func(A) A,
) kind[A, R] {
	k := apart(func(ctx context.Context, rows []A) ([]R, error) {
		answers := make([]R, len(rows))
		err := c.carryOne(ctx, prepare(rows, answers))
		return answers, err
	})
	if c.size == 1 {
		return k
	}
	q := &queueOf[A, R]{committer: c, prepare: prepare, key: key, weight: weight, clone: clone, busy: map[string]struct{}{}}
	c.queues = append(c.queues, q)
	k.share = q.share
	return k
}

// queueOf makes concurrent calls of one kind share statements. Calls for one key
// are carried out in the order in which they came, never two in one statement and
// never two at a time; but for rows that go alone because the statement that they
// shared has failed.
type queueOf[A, R any] struct {
	*committer
	prepare preparing[A, R]
	key     func(*A) string
	weight  func(*A) int // in bytes
	clone   func(A) A    // a copy that shares no memory which may change

	waiters []*waiter[A, R]
	busy    map[string]struct{} // keys of the statements under way
	spare   []*batchOf[A, R]    // whose memory the next ones use
}

func reservationKey(r *store.Reservation) string { return r.Key }
func acquisitionKey(a *store.Acquisition) string { return a.Key }
func settlementKey(s *store.Settlement) string   { return s.Key }
func settlementBytes(s *store.Settlement) int    { return len(s.Result) + len(s.Failure) }
func weightless[A any](*A) int                   { return 0 }

func cloneReservation(r store.Reservation) store.Reservation {
	r.Hashes = slices.Clone(r.Hashes)
	return r
}

func cloneAcquisition(a store.Acquisition) store.Acquisition {
	a.Reservation = cloneReservation(a.Reservation)
	return a
}

func cloneSettlement(s store.Settlement) store.Settlement {
	s.Result, s.Failure = slices.Clone(s.Result), slices.Clone(s.Failure)
	return s
}

// call is one call: its rows, which may travel in several statements.
type call[A, R any] struct {
	answers []R
	errs    []error
	left    int           // rows without an answer
	done    chan struct{} // closed when there are none
	gone    atomic.Bool   // nobody waits for it any more

	// The waiter, the answer and the error of a call of one, which most are.
	waiter [1]waiter[A, R]
	answer [1]R
	err    [1]error
}

// newCall has a waiter for each of the rows. A statement may carry one when its caller
// has left, and uses the memory for something else, so that they are copied.
func newCall[A, R any](rows []A, clone func(A) A) (*call[A, R], []waiter[A, R]) {
	c := &call[A, R]{left: len(rows), done: make(chan struct{})}
	waiters := c.waiter[:]
	c.answers, c.errs = c.answer[:], c.err[:]
	if len(rows) != 1 {
		waiters = make([]waiter[A, R], len(rows))
		c.answers, c.errs = make([]R, len(rows)), make([]error, len(rows))
	}
	for i, row := range rows {
		waiters[i] = waiter[A, R]{c, i, clone(row)}
	}
	return c, waiters
}

// waiter is one row of a call.
type waiter[A, R any] struct {
	*call[A, R]
	at  int
	row A
}

// share carries out the rows with those of other calls, each once. Who leaves
// because ctx is done does not know what became of them; those that were not
// under way yet are dropped.
func (q *queueOf[A, R]) share(ctx context.Context, rows []A) ([]R, []error) {
	c, waiters := newCall[A, R](rows, q.clone)
	defer c.gone.Store(true)
	q.mu.Lock()
	alone := q.committer.waiting() == 0
	for i := range waiters {
		q.waiters = append(q.waiters, &waiters[i])
	}
	if alone {
		if g := q.next(q.waiting()); g.rows > 0 {
			q.mu.Unlock()
			// Here, not in a goroutine that would have to be woken first.
			q.run(ctx, g)
			q.mu.Lock()
		}
	}
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		select {
		case <-c.done: // both at once
		default:
			return make([]R, len(rows)), slices.Repeat([]error{ctx.Err()}, len(rows))
		}
	}
	return c.answers, c.errs
}

func (q *queueOf[A, R]) waiting() int { return len(q.waiters) }

// take takes the next rows from the queue: in order, but for those whose key is
// under way already.
func (q *queueOf[A, R]) take(rows, bytes int, joint bool) batch {
	b := q.newBatch()
	var rest []*waiter[A, R]
	for i, w := range q.waiters {
		if w.gone.Load() {
			continue
		}
		full := len(b.waiters) == rows || b.bytes+q.weight(&w.row) > bytes
		if full && (joint || len(b.waiters) > 0) {
			rest = append(rest, q.waiters[i:]...)
			break
		}
		key := q.key(&w.row)
		if _, taken := q.busy[key]; taken {
			rest = append(rest, w)
			continue
		}
		q.busy[key] = struct{}{}
		b.bytes += q.weight(&w.row)
		b.waiters = append(b.waiters, w)
	}
	q.waiters = rest
	if len(b.waiters) == 0 {
		q.keep(b)
		return nil
	}
	return b
}

// newBatch returns one without rows.
func (q *queueOf[A, R]) newBatch() *batchOf[A, R] {
	last := len(q.spare) - 1
	if last < 0 {
		return &batchOf[A, R]{queue: q}
	}
	b := q.spare[last]
	q.spare = q.spare[:last]
	return b
}

// keep empties a batch for the next group. Batches are large: they carry the rows and
// their answers, so that new ones would be a fifth of the garbage.
func (q *queueOf[A, R]) keep(b *batchOf[A, R]) {
	if len(q.spare) == q.groups {
		return
	}
	clear(b.waiters)
	clear(b.rows)
	clear(b.answers)
	b.waiters, b.bytes = b.waiters[:0], 0
	q.spare = append(q.spare, b)
}

// batchOf is the rows of one kind in a group.
type batchOf[A, R any] struct {
	queue   *queueOf[A, R]
	waiters []*waiter[A, R]
	bytes   int
	rows    []A // of the last statement, and its answers
	answers []R
}

func (b *batchOf[A, R]) size() (rows, bytes int) { return len(b.waiters), b.bytes }

func (b *batchOf[A, R]) statement() statement {
	b.rows = b.rows[:0]
	for _, w := range b.waiters {
		b.rows = append(b.rows, w.row)
	}
	clear(b.answers)
	b.answers = slices.Grow(b.answers[:0], len(b.rows))[:len(b.rows)]
	return b.queue.prepare(b.rows, b.answers)
}

func (b *batchOf[A, R]) answer(err error) {
	for i, w := range b.waiters {
		delete(b.queue.busy, b.queue.key(&w.row))
		if w.errs[w.at] = err; err == nil {
			w.answers[w.at] = b.answers[i]
		}
		if w.left--; w.left == 0 {
			close(w.done)
		}
	}
	b.queue.keep(b)
}
