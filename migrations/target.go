package migrations

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
)

// target is a database that can be connected to, with the options' defaults
// filled in.
type target struct {
	config  *pgx.ConnConfig
	options Options
}

func newTarget(databaseURL string, options Options) (*target, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	if databaseURL == "" {
		return nil, errEmptyURL
	}
	pool, err := pgurl.Parse(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("dedupe: migrations: %w", err)
	}
	config := pool.ConnConfig
	// One round trip and no named statement: also a transaction pooler must
	// let us get as far as finding out that it is one.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "dedupe-migrate"
	}
	return &target{config: config, options: options.withDefaults()}, nil
}

// connect opens one connection, within Options.ConnectTimeout.
func (t *target) connect(ctx context.Context) (*pgx.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(bounded, t.config)
	if err != nil {
		return nil, t.connectError(ctx, err)
	}
	return conn, nil
}

// connectError names the host and the bound, and gives the cause. pgx keeps
// the password out of its connection errors.
func (t *target) connectError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("dedupe: migrations: stopped while connecting: %w", ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("dedupe: migrations: no answer from %s:%d within %s: %w",
			t.config.Host, t.config.Port, t.options.ConnectTimeout, inner{err})
	}
	return fmt.Errorf("dedupe: migrations: connect: %w", inner{err})
}

// configure prepares the session that migrates. SET instead of a startup
// parameter, because poolers refuse startup parameters that they do not know.
// lock_timeout bounds waits in the server, where golang-migrate does not.
func (t *target) configure(ctx context.Context, conn *pgx.Conn) error {
	settings := []string{
		`SET lock_timeout = ` + strconv.FormatInt(t.options.LockTimeout.Milliseconds(), 10),
		`SET statement_timeout = 0`,
		`SET idle_in_transaction_session_timeout = 0`,
	}
	if t.options.Schema != "" {
		settings = append(settings, searchPathSQL(t.options.Schema))
	}
	_, err := conn.Exec(ctx, strings.Join(settings, "; "))
	if err != nil {
		return fmt.Errorf("dedupe: migrations: prepare the session: %w", err)
	}
	return nil
}

// closeConn closes with a context of its own: the caller's may be over, and a
// session that lingers keeps its locks.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
