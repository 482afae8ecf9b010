package pgstore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// stalledAfter is how long a flight keeps others from departing. One takes a few
// milliseconds; one that hangs, on a lost connection or behind a transaction that
// has inserted the same key, must not stop every other call.
const stalledAfter = 250 * time.Millisecond

// stalledAfter is less where calls are short: a few flights must fit into one.
func (o Options) stalledAfter() time.Duration {
	return max(min(stalledAfter, o.CallTimeout/8), time.Millisecond)
}

// traffic makes concurrent calls share round trips and commits: group commit. There
// is no timer in it. A call that finds nothing under way goes at once; those that come
// meanwhile go together, so that flights grow with the load and a lone call waits for
// nobody. A flight beside others departs when as many rows wait as they carry each:
// flights that are alike keep client and server at work at the same time, where a large
// one and some small ones would cost as much, and leave both idle.
//
// A flight carries the rows of all its kinds of calls in one transaction, in one
// statement for each kind. The server carries out each as soon as it has come, and
// commits when all have: a client that is cut off in between leaves what it has locked
// locked. So results, which may be large, travel with other kinds only where all of them
// fit into a message that is on its way or is not.
type traffic struct {
	size    int           // most rows in a statement
	flights int           // most of them under way, those that stall apart
	timeout time.Duration // of a flight that no caller bounds
	stalled time.Duration // after which it keeps nobody from departing
	// send carries out statements in one transaction. failed is the one that failed,
	// if it was one of them.
	send func(context.Context, []statement) (failed int, err error)

	pilots chan flight // for those that are parked; it has room for them all

	mu     sync.Mutex
	lanes  []lane // in the order of their statements
	turn   int    // the lane that boards first, which changes
	flying int    // flights under way that do not stall
	aboard int    // the rows in them
	parked int    // pilots without a flight
}

const (
	// batchBytes bounds what the results in one statement may weigh, so that a
	// batch of large ones is neither one large message nor a large transaction.
	batchBytes = 4 << 20

	// jointBytes bounds what they may weigh in a statement that travels with others.
	jointBytes = 64 << 10
)

// lane is where calls of one kind wait. Whoever uses it holds the lock.
type lane interface {
	waiting() int
	// board takes rows that weigh so many bytes at most, or one that weighs more
	// where the flight carries nothing else. It answers nil if nothing can go.
	board(rows, bytes int, joint bool) leg
}

// leg is what a flight carries of one kind.
type leg interface {
	size() (rows, bytes int)
	statement() statement
	// land hands out the answers of the last statement, or its error. The caller
	// holds the lock.
	land(err error)
}

// flight is what departs together: no legs, if nothing does.
type flight struct {
	legs []leg
	rows int
}

func newTraffic(o Options, send func(context.Context, []statement) (int, error)) *traffic {
	return &traffic{
		size: o.BatchSize, flights: o.BatchesInFlight, timeout: o.CallTimeout, stalled: o.stalledAfter(),
		send: send, pilots: make(chan flight, o.BatchesInFlight),
	}
}

func (t *traffic) waiting() (rows int) {
	for _, l := range t.lanes {
		rows += l.waiting()
	}
	return rows
}

// depart returns the next flight, of so many rows at most, if it is time for one. The
// caller holds the lock.
func (t *traffic) depart(most int) (f flight) {
	waiting := t.waiting()
	if waiting == 0 || t.flying >= t.flights || waiting*t.flying < t.aboard {
		return f
	}
	legs := make([]leg, len(t.lanes))
	bytes, joint := batchBytes, false
	for i := range t.lanes {
		at := (t.turn + i) % len(t.lanes)
		part := (t.lanes[at].waiting()*most + waiting - 1) / waiting
		if legs[at] = t.lanes[at].board(min(part, t.size), bytes, joint); legs[at] == nil {
			continue
		}
		rows, weight := legs[at].size()
		f.rows += rows
		if bytes, joint = jointBytes-weight, true; bytes < 0 {
			break
		}
	}
	if f.rows > 0 {
		f.legs = slices.DeleteFunc(legs, func(l leg) bool { return l == nil })
		t.turn++
		t.flying++
		t.aboard += f.rows
	}
	return f
}

// dispatch sends what can depart. The caller holds the lock.
func (t *traffic) dispatch() {
	for {
		alike := (t.waiting() + t.aboard + t.flights - 1) / t.flights // rows of a flight, if all were
		f := t.depart(alike)
		if f.rows == 0 {
			return
		}
		if t.parked > 0 {
			t.parked--
			t.pilots <- f
		} else {
			go t.pilot(f)
		}
	}
}

// pilot carries out a flight, and others for as long as there are some under way: each
// new goroutine would have to grow its stack to what the driver needs.
func (t *traffic) pilot(f flight) {
	for f.rows > 0 {
		t.flyShared(f)
		f = t.park()
	}
}

// park waits for a flight, and returns none when nothing is under way any more.
func (t *traffic) park() flight {
	t.mu.Lock()
	if t.flying == 0 || t.parked == t.flights {
		t.mu.Unlock()
		return flight{}
	}
	t.parked++
	t.mu.Unlock()
	return <-t.pilots
}

// dismiss sends home the pilots that wait, if nothing is under way. The caller holds
// the lock.
func (t *traffic) dismiss() {
	for t.flying == 0 && t.parked > 0 {
		t.parked--
		t.pilots <- flight{}
	}
}

// flyShared carries out a flight that no caller bounds.
func (t *traffic) flyShared(f flight) {
	// A panic here would end the process; see fly for what becomes of it.
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	t.fly(ctx, f)
}

// fly carries out one flight and hands out its answers. ctx is that of the only
// call in it, and bounded as that is; a flight that carries several is ended by none
// of them.
func (t *traffic) fly(ctx context.Context, f flight) {
	flying := true // counted among those that others wait for
	leave := func() {
		if flying {
			flying = false
			t.flying--
			t.aboard -= f.rows
		}
		t.dispatch()
		t.dismiss()
	}
	stalled := time.AfterFunc(t.stalled, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		leave()
	})
	defer stalled.Stop()
	// Where the driver panics, or a hook or tracer of the caller's in it, each row
	// is tried once more by itself, in the goroutine of its own caller.
	errs := make([]error, len(f.legs))
	for i := range errs {
		errs[i] = errDivide
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i, l := range f.legs {
			l.land(errs[i])
		}
		leave()
	}()
	t.carry(ctx, f, errs)
}

// carry sends the statements of a flight and tells in errs what became of each. Where
// one of several fails because of a row in it, the others are sent again by themselves.
func (t *traffic) carry(ctx context.Context, f flight, errs []error) {
	statements := make([]statement, len(f.legs))
	for i, l := range f.legs {
		statements[i] = l.statement()
	}
	failed, err := t.send(ctx, statements)
	for i, l := range f.legs {
		switch {
		case err == nil:
			errs[i] = statements[i].finish(ctx)
		case i != failed && failed != whole && (sqlState(err) != "" || divisible(err)):
			errs[i] = t.carryOne(ctx, l.statement())
		default:
			errs[i] = err
		}
		if divides(errs[i], f.rows) {
			errs[i] = errDivide
		}
	}
}

// carryOne sends one statement.
func (t *traffic) carryOne(ctx context.Context, q statement) error {
	if _, err := t.send(ctx, []statement{q}); err != nil {
		return err
	}
	return q.finish(ctx)
}
