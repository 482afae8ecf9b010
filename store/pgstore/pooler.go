package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pooler"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

const (
	poolerRemedy = "set default_query_exec_mode=cache_describe (or exec, or simple_protocol) in the connection string"

	// probeRounds is how often a pooler gets the chance to lose a statement: by chance
	// a session comes back to who has prepared there.
	probeRounds = 10
	// probeTimeout bounds the search. Only who connects to a pooler gets that far.
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

// ErrSessionsMixed says that a pooler was seen to hand one client's session to another,
// which the pool's query exec mode cannot stand. Set another one in the connection
// string, or use a pooler in session mode.
var ErrSessionsMixed = errors.New("the query exec mode does not work behind the transaction pooler that the pool is connected to")

// CheckPooler refuses query exec modes that name something in one statement and
// use it in the next, where a pooler hands out another session in between, or
// where one is there and does not answer soon enough to find that out: its errors
// wrap [store.ErrUnavailable], in the first case also [ErrSessionsMixed], and say
// what to set. [New] calls it. It takes two connections of the pool, or of one like
// it that has room for them, for at most 10 seconds.
func CheckPooler(ctx context.Context, pool *pgxpool.Pool) error {
	mode := pool.Config().ConnConfig.DefaultQueryExecMode
	if mode != pgx.QueryExecModeCacheStatement && mode != pgx.QueryExecModeDescribeExec {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if config := pool.Config(); config.MaxConns < 2 {
		config.MaxConns, config.MinConns, config.MinIdleConns = 2, 0, 0
		var err error
		if pool, err = pgxpool.NewWithConfig(bounded, config); err != nil {
			return fmt.Errorf("%w: open a second connection: %s", store.ErrUnavailable, describe(err))
		}
		defer pool.Close()
	}
	var unknown connectionError
	switch mixes, err := mixesSessions(bounded, pool, mode == pgx.QueryExecModeCacheStatement); {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("dedupe: check pooler: %w", ctx.Err())
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: a connection of the pool does not answer: %s", store.ErrUnavailable, describe(unknown.error))
	case err != nil:
		return fmt.Errorf("%w: whether the pool's query exec mode (%s) works behind the pooler it is connected to could not be found out (%s): "+
			"try again, or %s", store.ErrUnavailable, mode, describe(err), poolerRemedy)
	case mixes:
		return fmt.Errorf("%w: %w (%s): %s", store.ErrUnavailable, ErrSessionsMixed, mode, poolerRemedy)
	}
	return nil
}

// connectionError is one of a connection that may or may not lead to a pooler.
type connectionError struct{ error }

// mixesSessions tells whether what one connection prepares is lost to it. It fails
// when there is a pooler that it cannot try, or with a connectionError.
func mixesSessions(ctx context.Context, pool *pgxpool.Pool, prepares bool) (bool, error) {
	here, err := pool.Acquire(ctx)
	if err != nil {
		return false, connectionError{err}
	}
	defer here.Release()
	behind, err := pooler.Behind(ctx, here.Conn())
	if err != nil {
		return false, connectionError{err}
	}
	if !behind {
		return false, nil
	}
	there, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer there.Release()
	for range probeRounds {
		shares, err := pooler.Shares(ctx, here.Conn(), there.Conn())
		if !shares || !prepares || err != nil {
			return shares, err
		}
		if loses, err := losesStatement(ctx, here.Conn(), there.Conn()); loses || err != nil {
			return loses, err
		}
	}
	return false, nil
}

// losesStatement tells whether here cannot use a statement that it has prepared,
// or there finds it where it has prepared nothing. Newer poolers carry prepared
// statements along with the client.
func losesStatement(ctx context.Context, here, there *pgx.Conn) (bool, error) {
	name := "dedupe_probe_" + rand.Text()[:8]
	defer func() {
		for _, conn := range []*pgx.Conn{there, here} { // wherever it was left
			_, _ = conn.PgConn().Exec(ctx, "DEALLOCATE "+pgx.Identifier{name}.Sanitize()).ReadAll()
		}
	}()
	if _, err := here.PgConn().Prepare(ctx, name, pingSQL, nil); err != nil {
		return false, err
	}
	tx, err := there.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := there.PgConn().Prepare(ctx, name, pingSQL, nil); err != nil {
		return mixedUp(err)
	}
	return mixedUp(here.PgConn().ExecPrepared(ctx, name, nil, nil, nil).Read().Err)
}

// mixedUp tells whether an error shows a prepared statement in the wrong session.
func mixedUp(err error) (bool, error) {
	switch sqlState(err) {
	case codeNoSuchStatement, codeStatementExists:
		return true, nil
	}
	return false, err
}
