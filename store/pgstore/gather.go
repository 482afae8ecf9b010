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

// gathered is a kind of call whose rows travel in the flights of traffic, in
// statements that prepare makes.
func gathered[A, R any](
	t *traffic, prepare preparing[A, R], key func(*A) string, weight func(*A) int, clone func(A) A,
) kind[A, R] {
	k := apart(func(ctx context.Context, rows []A) ([]R, error) {
		answers := make([]R, len(rows))
		err := t.carryOne(ctx, prepare(rows, answers))
		return answers, err
	})
	if t.size == 1 {
		return k
	}
	g := &gatherer[A, R]{traffic: t, prepare: prepare, key: key, weight: weight, clone: clone, busy: map[string]struct{}{}}
	t.lanes = append(t.lanes, g)
	k.share = g.share
	return k
}

// gatherer makes concurrent calls of one kind share statements. Calls for one key
// are carried out in the order in which they came, never two in one statement and
// never two at a time; but for rows that go alone because the statement that they
// shared has failed.
type gatherer[A, R any] struct {
	*traffic
	prepare preparing[A, R]
	key     func(*A) string
	weight  func(*A) int // in bytes
	clone   func(A) A    // a copy that shares no memory which may change

	queue []*seat[A, R]
	busy  map[string]struct{} // keys of the statements under way
	spare []*rowsAboard[A, R] // whose memory the next ones use
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

// party is one call: its rows, which may travel in several statements.
type party[A, R any] struct {
	answers []R
	errs    []error
	left    int           // rows without an answer
	done    chan struct{} // closed when there are none
	gone    atomic.Bool   // nobody waits for it any more

	// The seat, the answer and the error of a party of one, which most are.
	seat   [1]seat[A, R]
	answer [1]R
	err    [1]error
}

// newParty seats the rows. A statement may carry one when its caller has left, and
// uses the memory for something else, so that they are copied.
func newParty[A, R any](rows []A, clone func(A) A) (*party[A, R], []seat[A, R]) {
	p := &party[A, R]{left: len(rows), done: make(chan struct{})}
	seats := p.seat[:]
	p.answers, p.errs = p.answer[:], p.err[:]
	if len(rows) != 1 {
		seats = make([]seat[A, R], len(rows))
		p.answers, p.errs = make([]R, len(rows)), make([]error, len(rows))
	}
	for i, row := range rows {
		seats[i] = seat[A, R]{p, i, clone(row)}
	}
	return p, seats
}

// seat is one row of a party.
type seat[A, R any] struct {
	*party[A, R]
	at  int
	row A
}

// share carries out the rows with those of other calls, each once. Who leaves
// because ctx is done does not know what became of them; those that were not
// under way yet are dropped.
func (g *gatherer[A, R]) share(ctx context.Context, rows []A) ([]R, []error) {
	p, seats := newParty[A, R](rows, g.clone)
	defer p.gone.Store(true)
	g.mu.Lock()
	alone := g.traffic.waiting() == 0
	for i := range seats {
		g.queue = append(g.queue, &seats[i])
	}
	if alone {
		if f := g.depart(g.waiting()); f.rows > 0 {
			g.mu.Unlock()
			// Here, not in a goroutine that would have to be woken first.
			g.fly(ctx, f)
			g.mu.Lock()
		}
	}
	g.dispatch()
	g.mu.Unlock()
	select {
	case <-p.done:
	case <-ctx.Done():
		select {
		case <-p.done: // both at once
		default:
			return make([]R, len(rows)), slices.Repeat([]error{ctx.Err()}, len(rows))
		}
	}
	return p.answers, p.errs
}

func (g *gatherer[A, R]) waiting() int { return len(g.queue) }

// board takes the next rows from the queue: in order, but for those whose key is
// under way already.
func (g *gatherer[A, R]) board(rows, bytes int, joint bool) leg {
	l := g.leg()
	var rest []*seat[A, R]
	for i, s := range g.queue {
		if s.gone.Load() {
			continue
		}
		full := len(l.seats) == rows || l.bytes+g.weight(&s.row) > bytes
		if full && (joint || len(l.seats) > 0) {
			rest = append(rest, g.queue[i:]...)
			break
		}
		key := g.key(&s.row)
		if _, taken := g.busy[key]; taken {
			rest = append(rest, s)
			continue
		}
		g.busy[key] = struct{}{}
		l.bytes += g.weight(&s.row)
		l.seats = append(l.seats, s)
	}
	g.queue = rest
	if len(l.seats) == 0 {
		g.keep(l)
		return nil
	}
	return l
}

// leg returns one without rows.
func (g *gatherer[A, R]) leg() *rowsAboard[A, R] {
	last := len(g.spare) - 1
	if last < 0 {
		return &rowsAboard[A, R]{gatherer: g}
	}
	l := g.spare[last]
	g.spare = g.spare[:last]
	return l
}

// keep empties a leg for the next flight. Legs are large: they carry the rows and
// their answers, so that new ones would be a fifth of the garbage.
func (g *gatherer[A, R]) keep(l *rowsAboard[A, R]) {
	if len(g.spare) == g.flights {
		return
	}
	clear(l.seats)
	clear(l.rows)
	clear(l.answers)
	l.seats, l.bytes = l.seats[:0], 0
	g.spare = append(g.spare, l)
}

// rowsAboard is the rows of one kind in a flight.
type rowsAboard[A, R any] struct {
	*gatherer[A, R]
	seats   []*seat[A, R]
	bytes   int
	rows    []A // of the last statement, and its answers
	answers []R
}

func (l *rowsAboard[A, R]) size() (rows, bytes int) { return len(l.seats), l.bytes }

func (l *rowsAboard[A, R]) statement() statement {
	l.rows = l.rows[:0]
	for _, s := range l.seats {
		l.rows = append(l.rows, s.row)
	}
	clear(l.answers)
	l.answers = slices.Grow(l.answers[:0], len(l.rows))[:len(l.rows)]
	return l.prepare(l.rows, l.answers)
}

func (l *rowsAboard[A, R]) land(err error) {
	for i, s := range l.seats {
		delete(l.busy, l.key(&s.row))
		if s.errs[s.at] = err; err == nil {
			s.answers[s.at] = l.answers[i]
		}
		if s.left--; s.left == 0 {
			close(s.done)
		}
	}
	l.keep(l)
}
