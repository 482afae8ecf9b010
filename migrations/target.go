package migrations

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
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
	// The pool's parser, because the application's URL may carry pool_max_conns
	// and the like, which Postgres itself would refuse.
	pool, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, parseError(databaseURL, err)
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
			t.config.Host, t.config.Port, t.options.ConnectTimeout, err)
	}
	return fmt.Errorf("dedupe: migrations: connect: %w", err)
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

// parseError tells the reason only where no part of a password can stand in
// it: in a malformed URL a password may be taken for a host, a port or a path.
func parseError(databaseURL string, err error) error {
	const text = "dedupe: migrations: the database URL cannot be understood"
	u, urlErr := url.Parse(databaseURL)
	wellFormed := urlErr == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") &&
		!strings.Contains(u.Path+u.RawQuery+u.Fragment, "@")
	var parse *pgconn.ParseConfigError
	if cause := errors.Unwrap(err); wellFormed && errors.As(err, &parse) && cause != nil {
		return fmt.Errorf("%s: %w", text, cause)
	}
	return errors.New(text + " (it is not shown, since it may hold a password); it should look like " +
		"postgres://user:password@host:5432/database, with / ? # @ % in the password percent-encoded")
}
