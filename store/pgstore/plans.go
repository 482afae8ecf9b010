package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// keepable tells the exec mode in which a session has prepared statements, and
// with them plans to keep.
func keepable(mode pgx.QueryExecMode) bool { return mode == pgx.QueryExecModeCacheStatement }

// withPlanSettings makes each new session keep its plans, after the caller's own
// hook, and send cheaply.
func withPlanSettings(
	then func(context.Context, *pgx.Conn) error,
) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		if then != nil {
			if err := then(ctx, conn); err != nil {
				return err
			}
		}
		registerColumns(conn.TypeMap())
		giveOutbox(conn)
		_, err := conn.Exec(ctx, setPlansSQL, pgx.QueryExecModeExec, int64(conn.PgConn().PID()))
		return err
	}
}

// keepsPlans tells whether the sessions of the store's own pool keep their plans:
// not behind a pooler, whose sessions are others' too.
func (s *Store) keepsPlans(ctx context.Context) bool {
	if s.own == nil || !keepable(s.own.Config().ConnConfig.DefaultQueryExecMode) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	var kept bool
	err := s.own.QueryRow(ctx, plansSetSQL).Scan(&kept)
	return err == nil && kept
}
