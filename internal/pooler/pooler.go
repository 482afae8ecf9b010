// Package pooler finds out whether a connection to Postgres leads through a pooler
// that hands the server's sessions from one client to another. It must not know what
// the sessions are needed for.
package pooler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// rounds is how often a pooler is given the chance to hand one client's session
	// to another. An idle one does it in the first round; under load other clients
	// may get in between.
	rounds = 50
	// longestPause is the longest pause between two rounds.
	longestPause = 5 * time.Millisecond
)

// Behind tells whether conn leads to a pooler, however busy the server is: the process
// that a server announces when the connection begins is the one that answers. A pooler
// announces an identity of its own, in every mode, because it must route
// cancellations.
func Behind(ctx context.Context, conn *pgx.Conn) (bool, error) {
	pid, err := process(ctx, conn)
	return err == nil && pid != conn.PgConn().PID(), err
}

// Shares tells whether two connections through a pooler were seen to change or to share
// a session, which in session mode cannot happen. Between two statements outside a
// transaction a connection is idle, and a pooler in transaction mode has taken its
// session. Nobody else uses the two meanwhile.
func Shares(ctx context.Context, one, other *pgx.Conn) (bool, error) {
	here, there := &client{conn: one}, &client{conn: other}
	for _, c := range []*client{here, there} {
		if _, err := c.look(ctx); err != nil {
			return false, err
		}
	}
	if here.home == there.home {
		return true, nil
	}
	for range rounds {
		// Throwing dice: a small pool, idle or under full load, can hand out
		// its sessions in a cycle that looks the same in every round.
		if coin() {
			here, there = there, here
		}
		if coin() {
			if changed, err := there.look(ctx); changed || err != nil {
				return changed, err
			}
		}
		if shared, err := probe(ctx, here, there); shared || err != nil {
			return shared, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(rand.N(longestPause)):
		}
	}
	return false, nil
}

func coin() bool { return rand.N(2) == 0 }

// client is one of the two connections, and the session that it has: the one
// it was seen with first.
type client struct {
	conn *pgx.Conn
	home uint32
}

// look tells whether the client's session is another one than before.
func (c *client) look(ctx context.Context) (changed bool, err error) {
	pid, err := process(ctx, c.conn)
	if err != nil {
		return false, err
	}
	if c.home == 0 {
		c.home = pid
	}
	return c.home != pid, nil
}

// probe holds a session with there's transaction, then looks from both sides:
// there has here's session if the pooler prefers the one used last, and here
// gets another one if it prefers the one used first. Either is a change, since
// the two began with different ones.
func probe(ctx context.Context, here, there *client) (shared bool, err error) {
	tx, err := there.conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, tx.Rollback(ctx)) }()

	if changed, err := there.look(ctx); changed || err != nil {
		return changed, err
	}
	return here.look(ctx)
}

// process returns the server's process that answers. It asks below the driver's exec
// modes, some of which do not work behind a pooler, and one of which depends on
// settings of the session.
func process(ctx context.Context, conn *pgx.Conn) (uint32, error) {
	results, err := conn.PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, fmt.Errorf("dedupe: the server answered a question for its process with %d results", len(results))
	}
	pid, err := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 32)
	return uint32(pid), err
}
