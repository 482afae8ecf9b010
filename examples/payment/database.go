package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
)

// startRecords opens the store: in the database that was named, else in a
// Postgres that lives as long as this program, else in memory. A named database
// that does not answer is an error: records in another place would protect
// nothing.
func (e *environment) startRecords(ctx context.Context, o options, say announcer) (err error) {
	url := o.databaseURL
	if url == "" {
		if url, err = e.startPostgres(ctx, o, say); err != nil {
			return err
		}
	}
	if url == "" {
		e.records, err = inMemory()
	} else {
		e.records, err = e.openPostgres(ctx, url, say)
	}
	if err != nil {
		return err
	}
	e.stops = append(e.stops, e.records.close)
	return nil
}

// openPostgres opens the store in a database, with its tables.
func (e *environment) openPostgres(ctx context.Context, url string, say announcer) (*records, error) {
	where, err := reach(ctx, url)
	if err != nil {
		return nil, err
	}
	if !e.private {
		say.now("Records", "running migrations in your database; they add tables, and this demo deletes nothing")
	}
	r, err := inPostgres(ctx, url)
	if err != nil {
		return nil, err
	}
	say.ready("Records", "Postgres, database %s, table idempotency_records", where)
	return r, nil
}

// startPostgres starts a private Postgres and returns its URL, which is empty if
// there is none to start.
func (e *environment) startPostgres(ctx context.Context, o options, say announcer) (url string, err error) {
	say.now("Records", "no DATABASE_URL; starting a private Postgres, which takes a few seconds ...")
	e.private = true
	cluster, err := localpg.Start(ctx, o.postgres)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, localpg.ErrNoPostgres):
		say.now("Records", "IN MEMORY: %v", err)
	case err != nil:
		say.now("Records", "IN MEMORY, since Postgres could not be started: %v", err)
	default:
		e.stops = append(e.stops, func() { _ = cluster.Stop() })
		return cluster.URL(), nil
	}
	say.now("Records", "memory shows the retries within this process; records that outlive it need Postgres")
	return "", nil
}

// howToLook tells how to look at the records from outside.
func (e *environment) howToLook(prefix string) string {
	command := fmt.Sprintf(`psql "$DATABASE_URL" -c "SELECT key, status, acquisitions FROM idempotency_records WHERE workflow_id LIKE '%s%%' ORDER BY key"`, prefix)
	if e.private {
		return "This Postgres ends with the program. To keep the records, pass -database-url; then look with\n  " + command
	}
	return "Look again at any time, DATABASE_URL being the database above:\n  " + command
}
