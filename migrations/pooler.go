package migrations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pooler"
)

// probeTimeout bounds a search for a pooler that a full pool keeps waiting.
const probeTimeout = 10 * time.Second

// requireSession returns [ErrTransactionPooler] unless conn keeps one server
// session for as long as it is open. Where that cannot be found out, the answer is
// no: a lock that stays behind is worse than a second try.
func (t *target) requireSession(ctx context.Context, conn *pgx.Conn) error {
	behind, err := pooler.Behind(ctx, conn)
	if err != nil {
		return fmt.Errorf("dedupe: migrations: look for a pooler: %w", err)
	}
	if !behind {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	shared, err := t.sharesSessions(bounded, conn)
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

// sharesSessions is [pooler.Shares] for conn and a second connection like it.
func (t *target) sharesSessions(ctx context.Context, conn *pgx.Conn) (bool, error) {
	second, err := t.connect(ctx)
	if err != nil {
		return false, err
	}
	defer closeConn(second)
	return pooler.Shares(ctx, conn, second)
}
