package pgstore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// stalledAfter is how long a group keeps others from being sent. One takes a few
// milliseconds; one that hangs, on a lost connection or behind a transaction that
// has inserted the same key, must not stop every other call.
const stalledAfter = 250 * time.Millisecond

// stalledAfter is less where calls are short: a few groups must fit into one.
func (o Options) stalledAfter() time.Duration {
	return max(min(stalledAfter, o.CallTimeout/8), time.Millisecond)
}

// committer makes concurrent calls share round trips and commits: group commit. There
// is no timer in it. A call that finds nothing under way goes at once; those that come
// meanwhile go together, so that groups grow with the load and a lone call waits for
// nobody. A group beside others is sent when as many rows wait as they carry each:
// groups that are alike keep client and server at work at the same time, where a large
// one and some small ones would cost as much, and leave both idle.
//
// A group carries the rows of all its kinds of calls in one transaction, in one
// statement for each kind. The server carries out each as soon as it has come, and
// commits when all have: a client that is cut off in between leaves what it has locked
// locked. So results, which may be large, travel with other kinds only where all of them
// fit into a message that is on its way or is not.
type committer struct {
	size    int           // most rows in a statement
	groups  int           // most of them under way, those that stall apart
	timeout time.Duration // of a group that no caller bounds
	stalled time.Duration // after which it keeps nobody waiting
	// send carries out statements in one transaction. failed is the one that failed,
	// if it was one of them.
	send func(context.Context, []statement) (failed int, err error)

	senders chan group // for those that are idle; it has room for them all

	mu       sync.Mutex
	queues   []queue // in the order of their statements
	turn     int     // the queue that is asked first, which changes
	running  int     // groups under way that do not stall
	underWay int     // the rows in them
	idle     int     // senders without a group
}

const (
	// batchBytes bounds what the results in one statement may weigh, so that a
	// batch of large ones is neither one large message nor a large transaction.
	batchBytes = 4 << 20

	// jointBytes bounds what they may weigh in a statement that travels with others.
	jointBytes = 64 << 10
)

// queue is where calls of one kind wait. Whoever uses it holds the lock.
type queue interface {
	waiting() int
	// take takes rows that weigh so many bytes at most, or one that weighs more
	// where the group carries nothing else. It answers nil if nothing can go.
	take(rows, bytes int, joint bool) batch
}

// batch is what a group carries of one kind.
type batch interface {
	size() (rows, bytes int)
	statement() statement
	// answer hands out the answers of the last statement, or its error. The caller
	// holds the lock.
	answer(err error)
}

// group is what is sent together: no batches, if nothing is.
type group struct {
	batches []batch
	rows    int
}

func newCommitter(o Options, send func(context.Context, []statement) (int, error)) *committer {
	return &committer{
		size: o.BatchSize, groups: o.BatchesInFlight, timeout: o.CallTimeout, stalled: o.stalledAfter(),
		send: send, senders: make(chan group, o.BatchesInFlight),
	}
}

func (c *committer) waiting() (rows int) {
	for _, q := range c.queues {
		rows += q.waiting()
	}
	return rows
}

// next returns the next group, of so many rows at most, if it is time for one. The
// caller holds the lock.
func (c *committer) next(most int) (g group) {
	waiting := c.waiting()
	if waiting == 0 || c.running >= c.groups || waiting*c.running < c.underWay {
		return g
	}
	batches := make([]batch, len(c.queues))
	bytes, joint := batchBytes, false
	for i := range c.queues {
		at := (c.turn + i) % len(c.queues)
		part := (c.queues[at].waiting()*most + waiting - 1) / waiting
		if batches[at] = c.queues[at].take(min(part, c.size), bytes, joint); batches[at] == nil {
			continue
		}
		rows, weight := batches[at].size()
		g.rows += rows
		if bytes, joint = jointBytes-weight, true; bytes < 0 {
			break
		}
	}
	if g.rows > 0 {
		g.batches = slices.DeleteFunc(batches, func(b batch) bool { return b == nil })
		c.turn++
		c.running++
		c.underWay += g.rows
	}
	return g
}

// dispatch sends what can be sent. The caller holds the lock.
func (c *committer) dispatch() {
	for {
		alike := (c.waiting() + c.underWay + c.groups - 1) / c.groups // rows of a group, if all were
		g := c.next(alike)
		if g.rows == 0 {
			return
		}
		if c.idle > 0 {
			c.idle--
			c.senders <- g
		} else {
			go c.sender(g)
		}
	}
}

// sender carries out a group, and others for as long as there are some under way: each
// new goroutine would have to grow its stack to what the driver needs.
func (c *committer) sender(g group) {
	for g.rows > 0 {
		c.runShared(g)
		g = c.await()
	}
}

// await waits for a group, and returns none when nothing is under way any more.
func (c *committer) await() group {
	c.mu.Lock()
	if c.running == 0 || c.idle == c.groups {
		c.mu.Unlock()
		return group{}
	}
	c.idle++
	c.mu.Unlock()
	return <-c.senders
}

// release sends home the senders that wait, if nothing is under way. The caller holds
// the lock.
func (c *committer) release() {
	for c.running == 0 && c.idle > 0 {
		c.idle--
		c.senders <- group{}
	}
}

// runShared carries out a group that no caller bounds.
func (c *committer) runShared(g group) {
	// A panic here would end the process; see run for what becomes of it.
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.run(ctx, g)
}

// run carries out one group and hands out its answers. ctx is that of the only
// call in it, and bounded as that is; a group that carries several is ended by none
// of them.
func (c *committer) run(ctx context.Context, g group) {
	running := true // counted among those that others wait for
	leave := func() {
		if running {
			running = false
			c.running--
			c.underWay -= g.rows
		}
		c.dispatch()
		c.release()
	}
	stalled := time.AfterFunc(c.stalled, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		leave()
	})
	defer stalled.Stop()
	// Where the driver panics, or a hook or tracer of the caller's in it, each row
	// is tried once more by itself, in the goroutine of its own caller.
	errs := make([]error, len(g.batches))
	for i := range errs {
		errs[i] = errDivide
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, b := range g.batches {
			b.answer(errs[i])
		}
		leave()
	}()
	c.carry(ctx, g, errs)
}

// carry sends the statements of a group and tells in errs what became of each. Where
// one of several fails because of a row in it, the others are sent again by themselves.
func (c *committer) carry(ctx context.Context, g group, errs []error) {
	statements := make([]statement, len(g.batches))
	for i, b := range g.batches {
		statements[i] = b.statement()
	}
	failed, err := c.send(ctx, statements)
	for i, b := range g.batches {
		switch {
		case err == nil:
			errs[i] = statements[i].finish(ctx)
		case i != failed && failed != whole && (sqlState(err) != "" || divisible(err)):
			errs[i] = c.carryOne(ctx, b.statement())
		default:
			errs[i] = err
		}
		if divides(errs[i], g.rows) {
			errs[i] = errDivide
		}
	}
}

// carryOne sends one statement.
func (c *committer) carryOne(ctx context.Context, q statement) error {
	if _, err := c.send(ctx, []statement{q}); err != nil {
		return err
	}
	return q.finish(ctx)
}
