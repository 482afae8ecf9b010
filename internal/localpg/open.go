package localpg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Open returns the URL of a database: databaseURL if it is not empty and
// answers, and otherwise a new database of a private cluster. Stop ends the
// cluster, or does nothing if there is none; it is never nil without an error.
func Open(ctx context.Context, databaseURL string, o Options) (url string, stop func() error, err error) {
	if databaseURL != "" {
		conn, err := pgx.Connect(ctx, databaseURL)
		if err != nil {
			return "", nil, fmt.Errorf("localpg: the given database does not answer (leave its URL empty to use a private Postgres): %w", err)
		}
		return databaseURL, func() error { return nil }, conn.Close(ctx)
	}
	c, err := Start(ctx, o)
	if err != nil {
		return "", nil, err
	}
	return c.URL(), c.Stop, nil
}
