package migrations

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// probeRounds is how often a pooler is given the chance to hand one
	// client's server session to another. An idle one does it in the first
	// round; under load other clients may get in between.
	probeRounds = 50
	// probePause is the longest pause between two rounds.
	probePause = 5 * time.Millisecond
	// probeTimeout bounds a probe that a full pool keeps waiting.
	probeTimeout = 10 * time.Second
)

// requireSession returns [ErrTransactionPooler] unless conn keeps one server
// session for as long as it is open.
//
// A direct connection is recognised at once, however busy the server is: the
// process that the server announced when the connection began is the one that
// answers. A pooler announces an identity of its own, in every mode, because it
// must route cancellations. Behind one, two clients watch whether one gets the
// server session of the other, which in session mode cannot happen. Where that
// cannot be found out, the answer is no: a lock that stays behind is worse than
// a second try.
func (t *target) requireSession(ctx context.Context, conn *pgx.Conn) error {
	pid, err := backendPID(ctx, conn)
	if err != nil {
		return fmt.Errorf("dedupe: migrations: look for a pooler: %w", err)
	}
	if pid == conn.PgConn().PID() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	shared, err := t.sharesSessions(bounded, conn, pid)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("dedupe: migrations: stopped while looking for a pooler: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("%w: %s:%d is a pooler, and it could not be shown that it keeps sessions; "+
			"use the address of Postgres itself: %w", ErrTransactionPooler, t.config.Host, t.config.Port, inner{err})
	case shared:
		return fmt.Errorf("%w: %s:%d is a pooler in transaction mode; "+
			"use the address of Postgres itself, or of a pool in session mode",
			ErrTransactionPooler, t.config.Host, t.config.Port)
	}
	return nil
}

// sharesSessions reports whether two connections were seen to change or to
// share a server session. Between two statements outside a transaction a
// connection is idle, and a pooler in transaction mode has taken its session.
func (t *target) sharesSessions(ctx context.Context, conn *pgx.Conn, home uint32) (bool, error) {
	second, err := t.connect(ctx)
	if err != nil {
		return false, err
	}
	defer closeConn(second)

	here, there := &client{conn: conn, home: home}, &client{conn: second}
	if _, err := there.look(ctx); err != nil || there.home == here.home {
		return err == nil, err
	}
	for range probeRounds {
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
		case <-time.After(rand.N(probePause)):
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

// look reports whether the client's session is another one than before.
func (c *client) look(ctx context.Context) (changed bool, err error) {
	pid, err := backendPID(ctx, c.conn)
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

const selectPIDSQL = `SELECT pg_backend_pid()`

func backendPID(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, selectPIDSQL).Scan(&pid)
	return pid, err
}
