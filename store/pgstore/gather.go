package pgstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

const (
	// batchBytes bounds what the results in one statement may weigh, so that a
	// batch of large ones is neither one large message nor a large transaction.
	batchBytes = 4 << 20

	// stalledAfter is how long a statement keeps others from being sent. One
	// takes a few milliseconds; one that hangs, on a lost connection or behind a
	// transaction that has inserted the same key, must not stop every other call.
	stalledAfter = 250 * time.Millisecond
)

// gatherer makes concurrent calls share statements and commits: group commit.
// There is no timer in it. A call that finds room goes at once; those that come
// while a statement is under way go together when it has been answered, so that
// the batches grow with the load and a lone call waits for nobody.
//
// Calls for one key are carried out in the order in which they came, never two
// in one statement and never two at a time.
type gatherer[A, R any] struct {
	do     func(context.Context, []A) ([]R, error) // one statement
	key    func(*A) string
	weight func(*A) int // in bytes
	clone  func(A) A    // a copy that shares no memory which may change

	size    int           // most rows in a statement
	flights int           // most statements under way, those that stall apart
	timeout time.Duration // of a statement that no caller bounds

	mu     sync.Mutex
	queue  []*seat[A, R]
	busy   map[string]struct{} // keys of the statements under way
	flying int                 // statements under way that do not stall
}

// gathered returns how the rows of concurrent calls are carried out by do.
func gathered[A, R any](
	o Options, do func(context.Context, []A) ([]R, error), key func(*A) string, weight func(*A) int,
	clone func(A) A,
) sharing[A, R] {
	if o.BatchSize == 1 {
		return direct(do)
	}
	g := &gatherer[A, R]{
		do: do, key: key, weight: weight, clone: clone, size: o.BatchSize, flights: o.BatchesInFlight,
		timeout: o.CallTimeout, busy: map[string]struct{}{},
	}
	return g.share
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
	ctx     context.Context //nolint:containedctx // of the call that it stands for
	answers []R
	errs    []error
	left    int           // rows without an answer
	done    chan struct{} // closed when there are none

	// The seat, the answer and the error of a party of one, which most are.
	seat   [1]seat[A, R]
	answer [1]R
	err    [1]error
}

// newParty seats the rows. A statement may carry one when its caller has left, and
// uses the memory for something else, so that they are copied.
func newParty[A, R any](ctx context.Context, rows []A, clone func(A) A) (*party[A, R], []seat[A, R]) {
	p := &party[A, R]{ctx: ctx, left: len(rows), done: make(chan struct{})}
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
	p, seats := newParty[A, R](ctx, rows, g.clone)
	g.mu.Lock()
	alone := len(g.queue) == 0
	for i := range seats {
		g.queue = append(g.queue, &seats[i])
	}
	if alone && g.flying < g.flights {
		if batch := g.board(); len(batch) > 0 {
			g.flying++
			g.mu.Unlock()
			// Here, not in a goroutine that would have to be woken first.
			g.fly(ctx, batch)
			g.mu.Lock()
		}
	}
	g.dispatch()
	g.mu.Unlock()
	select {
	case <-p.done:
		return p.answers, p.errs
	case <-ctx.Done():
	}
	select {
	case <-p.done: // both at once
		return p.answers, p.errs
	default:
		return make([]R, len(rows)), slices.Repeat([]error{ctx.Err()}, len(rows))
	}
}

// dispatch sends what is queued while there is room. The caller holds the lock.
func (g *gatherer[A, R]) dispatch() {
	for g.flying < g.flights {
		batch := g.board()
		if len(batch) == 0 {
			return
		}
		g.flying++
		go func() {
			// A panic here would end the process; see fly for what becomes of it.
			defer func() { _ = recover() }()
			ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
			defer cancel()
			g.fly(ctx, batch)
		}()
	}
}

// board takes the next batch from the queue: in order, but for the rows whose
// key is under way already.
func (g *gatherer[A, R]) board() []*seat[A, R] {
	var batch, rest []*seat[A, R]
	weight := 0
	for i, s := range g.queue {
		if s.ctx.Err() != nil {
			continue
		}
		if len(batch) > 0 && (len(batch) == g.size || weight+g.weight(&s.row) > batchBytes) {
			rest = append(rest, g.queue[i:]...)
			break
		}
		key := g.key(&s.row)
		if _, taken := g.busy[key]; taken {
			rest = append(rest, s)
			continue
		}
		g.busy[key] = struct{}{}
		weight += g.weight(&s.row)
		batch = append(batch, s)
	}
	g.queue = rest
	return batch
}

// fly carries out one batch and hands out its answers. ctx is that of the only
// call in it, and bounded as that is; a statement that carries several is ended by
// none of them.
func (g *gatherer[A, R]) fly(ctx context.Context, batch []*seat[A, R]) {
	flying := true // counted among those that others wait for
	land := func() {
		if flying {
			flying = false
			g.flying--
		}
		g.dispatch()
	}
	stalled := time.AfterFunc(stalledAfter, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		land()
	})
	defer stalled.Stop()
	rows := make([]A, len(batch))
	for i, s := range batch {
		rows[i] = s.row
	}
	// Where the driver panics, or a hook or tracer of the caller's in it, each row
	// is tried once more by itself, in the goroutine of its own caller.
	var answers []R
	var errs []error
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i, s := range batch {
			delete(g.busy, g.key(&s.row))
			if s.errs[s.at] = errDivide; errs != nil {
				s.answers[s.at], s.errs[s.at] = answers[i], errs[i]
			}
			if s.left--; s.left == 0 {
				close(s.done)
			}
		}
		land()
	}()
	answers, errs = direct(g.do)(ctx, rows)
}
