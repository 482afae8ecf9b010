package crashtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Account is what became of an order, by all who know.
type Account struct {
	// Order is the order's ID.
	Order string
	// Victim: its worker was to be killed because of it.
	Victim bool
	// ChargeID and Err are the workflow's result.
	ChargeID string
	Err      error
	// Bodies is how many bodies began; BodiesAtKill how many of them before
	// the victim's worker was killed.
	Bodies, BodiesAtKill int
	// Charges are the charges that the provider made.
	Charges []string
	// Records are what the table has; none without deduplication.
	Records []Entry
}

// Entry is a record of an order.
type Entry struct {
	// Status, Held and Acquisitions are the record's.
	Status       store.Status
	Held         bool
	Acquisitions int
	// ChargeID is the recorded result.
	ChargeID string
}

// Refused tells whether the workflow ended because nobody knows the outcome.
func (a Account) Refused() bool {
	var failed *temporal.ApplicationError
	return errors.As(a.Err, &failed) && failed.Type() == dedupe.ErrTypeOutcomeUnknown
}

// Accounts returns what became of each order, in their order, with the records
// that are in a database by now; an empty URL has none.
func (l *Lane) Accounts(ctx context.Context, databaseURL string) ([]Account, error) {
	entries := map[string][]Entry{}
	if databaseURL != "" {
		var err error
		if entries, err = readEntries(ctx, databaseURL, l.ids()); err != nil {
			return nil, err
		}
	}
	accounts := make([]Account, 0, len(l.orders))
	for _, o := range l.orders {
		a := Account{
			Order: o.ID, ChargeID: o.chargeID, Err: o.err, Records: entries[o.ID],
			Bodies: l.bench.house.begun(o.ID), Charges: l.bench.house.providers[l.options.Keys].of(o.ID),
		}
		if o.death != nil {
			a.Victim, a.BodiesAtKill = true, o.death.bodies
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

func (l *Lane) ids() []string {
	ids := make([]string, len(l.orders))
	for i, o := range l.orders {
		ids[i] = o.ID
	}
	return ids
}

const (
	selectEntriesSQL = `
SELECT workflow_id, status, held_since IS NOT NULL, acquisitions, response_body
FROM idempotency_records WHERE workflow_id = ANY ($1::text[])`

	deleteEntriesSQL = `DELETE FROM idempotency_records WHERE workflow_id = ANY ($1::text[])`
)

func readEntries(ctx context.Context, databaseURL string, orders []string) (map[string][]Entry, error) {
	if inRedis(databaseURL) {
		return readRedis(ctx, databaseURL, orders)
	}
	entries := map[string][]Entry{}
	err := withConnection(ctx, databaseURL, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, selectEntriesSQL, orders)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var order string
			var e Entry
			var result []byte
			if err := rows.Scan(&order, &e.Status, &e.Held, &e.Acquisitions, &result); err != nil {
				return err
			}
			if e.ChargeID, err = decodeResult(result); err != nil {
				return fmt.Errorf("result of %s: %w", order, err)
			}
			entries[order] = append(entries[order], e)
		}
		return rows.Err()
	})
	return entries, err
}

// forget removes the records of a lane from a database that outlives the run:
// held ones would stay there for ever.
func (l *Lane) forget(ctx context.Context, databaseURL string) error {
	if inRedis(databaseURL) {
		return forgetRedis(ctx, databaseURL, l.ids())
	}
	return withConnection(ctx, databaseURL, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, deleteEntriesSQL, l.ids())
		return err
	})
}

func withConnection(ctx context.Context, databaseURL string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("crashtest: records: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := do(conn); err != nil {
		return fmt.Errorf("crashtest: records: %w", err)
	}
	return nil
}

// decodeResult reads a recorded result as the workflow does.
func decodeResult(result []byte) (chargeID string, err error) {
	if len(result) == 0 {
		return "", nil
	}
	var payloads commonpb.Payloads
	if err := proto.Unmarshal(result, &payloads); err != nil {
		return "", err
	}
	err = converter.GetDefaultDataConverter().FromPayloads(&payloads, &chargeID)
	return chargeID, err
}
