package pgstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pool is what the store needs of a connection pool. *[pgxpool.Pool] has it, and
// so do wrappers around one and the pool of pgxmock. It is used by many
// goroutines at once, which a single connection or a transaction is not made for.
type Pool interface {
	// Query runs a statement that answers rows.
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	// Exec runs a statement that answers how many rows it changed.
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// validPool refuses what would only fail, or race, at the first call.
func validPool(pool Pool) error {
	if pool == nil {
		return errors.New("dedupe: pgstore: the pool is nil")
	}
	if v := reflect.ValueOf(pool); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("dedupe: pgstore: the pool is a nil %T", pool)
	}
	switch pool.(type) {
	case *pgx.Conn, *pgxpool.Conn, *pgxpool.Tx:
		return fmt.Errorf("dedupe: pgstore: a %T serves one goroutine at a time; give a *pgxpool.Pool", pool)
	}
	return nil
}

// openOwn opens the store's own pool beside the caller's, to the same database
// and with the same hooks. It does not connect yet.
func openOwn(ctx context.Context, pool *pgxpool.Pool, conns int) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = int32(conns), 0, 0
	if keepable(config.ConnConfig.DefaultQueryExecMode) {
		config.AfterConnect = withPlanSettings(config.AfterConnect)
	}
	own, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("dedupe: pgstore: open the store's own pool: %s", describe(err))
	}
	return own, nil
}
