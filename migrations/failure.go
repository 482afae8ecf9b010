package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	sqlstateLockNotAvailable = "55P03"

	// cancelEvery and cancelFor: a cancellation that arrives between two
	// statements hits nothing, so it is repeated; when the server does not
	// react at all, the connection is cut.
	cancelEvery = 200 * time.Millisecond
	cancelFor   = 3 * time.Second
)

// interrupt honours ctx on a connection whose user does not know it:
// golang-migrate talks to the database with a context that never ends. The
// function that it returns ends the watch and waits for it.
func interrupt(ctx context.Context, conn *pgx.Conn, gracefulStop chan<- bool) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		if gracefulStop != nil {
			gracefulStop <- true // buffered; nobody else sends
		}
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelFor)
		defer cancel()
		ticker := time.NewTicker(cancelEvery)
		defer ticker.Stop()
		for {
			_ = conn.PgConn().CancelRequest(detached)
			select {
			case <-done:
				return
			case <-detached.Done():
				_ = conn.PgConn().Conn().Close()
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// explain says which migration failed and where the schema is now.
func (d *driver) explain(ctx context.Context, err error, after Status, statusErr error) error {
	if errors.Is(err, ErrNewerSchema) {
		return err
	}
	where := fmt.Sprintf("the schema has version %d", after.Version)
	if statusErr != nil {
		where = "its version could not be read afterwards; look with `dedupe migrate status`"
	}
	what := "dedupe: migrations: not finished"
	switch {
	case d.failed == nil:
	case statusErr == nil && after.Version == d.target:
		what = fmt.Sprintf("dedupe: migrations: %s was committed, but then the connection failed", d.migration())
	case statusErr == nil:
		what = fmt.Sprintf("dedupe: migrations: %s failed and was rolled back", d.migration())
	default:
		what = fmt.Sprintf("dedupe: migrations: %s failed", d.migration())
	}
	if d.failed != nil {
		err = d.failed
	}
	return clarify(ctx, fmt.Errorf("%s; %s: %w", what, where, inner{cause(err)}))
}

// clarify adds what the caller can ask for with errors.Is: the end of its own
// context, or a lock that another session holds.
func clarify(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w (%w)", err, ctx.Err())
	case errors.Is(err, migrate.ErrLockTimeout),
		errors.As(err, &pg) && pg.Code == sqlstateLockNotAvailable:
		return fmt.Errorf("%w: %w", ErrLockTimeout, inner{err})
	}
	return err
}

// inner is an error of this package within the text of another: the prefix stands once.
type inner struct{ error }

// Error returns the text without the prefix.
func (i inner) Error() string { return strings.TrimPrefix(i.error.Error(), "dedupe: migrations: ") }

// Unwrap returns the error.
func (i inner) Unwrap() error { return i.error }

// cause takes golang-migrate's wrapping away, whose text holds the whole file,
// but keeps the line and what Postgres says.
func cause(err error) error {
	var byValue database.Error
	var byPointer *database.Error
	switch {
	case errors.As(err, &byPointer):
		byValue = *byPointer
	case !errors.As(err, &byValue):
		return err
	}
	if byValue.OrigErr == nil {
		return errors.New(byValue.Err)
	}
	var pg *pgconn.PgError
	if errors.As(byValue.OrigErr, &pg) && pg.Position > 0 && byValue.Line > 0 {
		return fmt.Errorf("line %d: %w", byValue.Line, byValue.OrigErr)
	}
	return byValue.OrigErr
}
