package pgstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

const (
	poolerRemedy = "set default_query_exec_mode=cache_describe (or exec, or simple_protocol) in the connection string"

	// probeRounds is how often a pooler gets the chance to show that it hands
	// one client's session to another. An idle one does so in the first round.
	probeRounds = 10
	// probeTimeout bounds the search: what is not found out is not refused. Only
	// who connects to a pooler gets that far.
	probeTimeout = 10 * time.Second
)

// checkPooler is CheckPooler for the store's own pool, within the time of a call.
// It is called by New only, while nobody else uses the two connections.
func (s *Store) checkPooler(ctx context.Context) error {
	if s.own == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	return CheckPooler(ctx, s.own)
}

// CheckPooler refuses query exec modes that name something in one statement and
// use it in the next, where a pooler was seen to hand out another session in
// between: its error wraps [store.ErrUnavailable] and says what to set. [New]
// calls it. It takes two connections of the pool for at most 10 seconds; what
// cannot be found out with them is not refused.
func CheckPooler(ctx context.Context, pool *pgxpool.Pool) error {
	mode := pool.Config().ConnConfig.DefaultQueryExecMode
	if mode != pgx.QueryExecModeCacheStatement && mode != pgx.QueryExecModeDescribeExec {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if !mixesSessions(ctx, pool, mode == pgx.QueryExecModeCacheStatement) {
		return nil
	}
	return fmt.Errorf("%w: the pool's query exec mode (%s) does not work behind the transaction pooler it is connected to: %s",
		store.ErrUnavailable, mode, poolerRemedy)
}

// mixesSessions tells whether what one connection prepares is lost to it. Errors
// are no proof, and answer false.
func mixesSessions(ctx context.Context, pool *pgxpool.Pool, prepares bool) bool {
	here, err := pool.Acquire(ctx)
	if err != nil {
		return false
	}
	defer here.Release()
	home, err := backendPID(ctx, here.Conn())
	if err != nil || home == here.Conn().PgConn().PID() {
		// The process that announced itself at login is the one that answers:
		// there is no pooler.
		return false
	}
	there, err := pool.Acquire(ctx)
	if err != nil {
		return false
	}
	defer there.Release()
	for range probeRounds {
		// By chance a session comes back to who has prepared there: look again.
		if moved(ctx, here.Conn(), there.Conn(), home) && (!prepares || losesStatement(ctx, here.Conn(), there.Conn())) {
			return true
		}
	}
	return false
}

// moved tells whether here and there were seen to share a session, or here to
// change it, while there has a transaction open.
func moved(ctx context.Context, here, there *pgx.Conn, home uint32) bool {
	tx, err := there.Begin(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback(ctx) }()
	theirs, err := backendPID(ctx, there)
	if err != nil || theirs == home {
		return err == nil
	}
	ours, err := backendPID(ctx, here)
	return err == nil && ours != home
}

// losesStatement tells whether here cannot use a statement that it has prepared,
// or there finds it where it has prepared nothing. Newer poolers carry prepared
// statements along with the client.
func losesStatement(ctx context.Context, here, there *pgx.Conn) bool {
	name := "dedupe_probe_" + rand.Text()[:8]
	defer func() {
		for _, conn := range []*pgx.Conn{there, here} { // wherever it was left
			_, _ = conn.Exec(ctx, "DEALLOCATE "+pgx.Identifier{name}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
		}
	}()
	if _, err := here.PgConn().Prepare(ctx, name, selectPIDSQL, nil); err != nil {
		return false
	}
	tx, err := there.Begin(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := there.PgConn().Prepare(ctx, name, selectPIDSQL, nil); err != nil {
		return sqlState(err) == codeStatementExists
	}
	used := here.PgConn().ExecPrepared(ctx, name, nil, nil, nil).Read()
	return sqlState(used.Err) == codeNoSuchStatement
}

const selectPIDSQL = `SELECT pg_backend_pid()`

func backendPID(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, selectPIDSQL, pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}
