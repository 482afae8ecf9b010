package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// audit is what the books say of a run.
type audit struct {
	transfers, once, twice, lost int
	before, after                int64 // the sum of all balances
	wrongBalances                int   // accounts that do not have what the orders add up to
	disagreeing                  int   // transfers whose workflow, journal and record differ
	records                      bool
}

func (a *audit) fine() bool {
	return a.transfers == a.once && a.twice == 0 && a.lost == 0 && a.before == a.after && a.wrongBalances == 0 && a.disagreeing == 0
}

// String is the verdict, whose last line is the one that counts.
func (a *audit) String() string {
	var s strings.Builder
	_, _ = fmt.Fprintf(&s, "\nSum of all balances: %s before, %s after; %d of %d accounts are wrong\n", euros(a.before), euros(a.after), a.wrongBalances, accounts)
	if a.records {
		_, _ = fmt.Fprintf(&s, "Workflow, journal and record disagree about %d of %d transfers\n", a.disagreeing, a.transfers)
	}
	_, _ = fmt.Fprintf(&s, "%d transfers: %d booked once, %d twice, %d lost\n", a.transfers, a.once, a.twice, a.lost)
	return s.String()
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }

// audit compares orders, books, records and the workflows' answers.
func (b *books) audit(ctx context.Context, made []outcome, records bool) (*audit, error) {
	a := &audit{transfers: len(made), before: accounts * openingBalance, records: records}
	journal, err := b.journal(ctx)
	if err != nil {
		return nil, err
	}
	recorded, err := b.records(ctx)
	if err != nil {
		return nil, err
	}
	want := map[string]int64{}
	for _, o := range made {
		want[o.transfer.From] -= o.transfer.Cents
		want[o.transfer.To] += o.transfer.Cents
		numbers := journal[o.transfer.ID]
		switch {
		case o.err != nil || len(numbers) == 0:
			a.lost++
		case len(numbers) == 1:
			a.once++
		default:
			a.twice++
		}
		if records && (len(numbers) != 1 || o.booking.Number != numbers[0] || recorded[o.transfer.ID] != numbers[0]) {
			a.disagreeing++
		}
	}
	rows, err := b.pool.Query(ctx, `SELECT id, cents FROM ledger_accounts WHERE starts_with(id, $1)`, b.run)
	if err != nil {
		return nil, fmt.Errorf("ledger: audit: %w", err)
	}
	var id string
	var cents int64
	_, err = pgx.ForEachRow(rows, []any{&id, &cents}, func() error {
		a.after += cents
		if cents != openingBalance+want[id] {
			a.wrongBalances++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: audit: %w", err)
	}
	return a, nil
}

// journal returns the numbers under which each transfer stands in the journal.
func (b *books) journal(ctx context.Context) (map[string][]int64, error) {
	numbers := map[string][]int64{}
	rows, err := b.pool.Query(ctx, `SELECT transfer, number FROM ledger_journal WHERE starts_with(transfer, $1)`, b.run)
	if err != nil {
		return nil, fmt.Errorf("ledger: read the journal: %w", err)
	}
	var id string
	var number int64
	_, err = pgx.ForEachRow(rows, []any{&id, &number}, func() error {
		numbers[id] = append(numbers[id], number)
		return nil
	})
	return numbers, err
}

// records returns the numbers that stand in the records of completed calls.
func (b *books) records(ctx context.Context) (map[string]int64, error) {
	recorded := map[string]int64{}
	rows, err := b.pool.Query(ctx, `SELECT workflow_id, response_body FROM idempotency_records
		WHERE starts_with(workflow_id, $1) AND status = 'completed'`, b.run)
	if err != nil {
		return nil, fmt.Errorf("ledger: read the records: %w", err)
	}
	var id string
	var result []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &result}, func() error {
		var payloads commonpb.Payloads
		var booking Booking
		if err := proto.Unmarshal(result, &payloads); err != nil {
			return err
		}
		err := converter.GetDefaultDataConverter().FromPayloads(&payloads, &booking)
		recorded[id] = booking.Number
		return err
	})
	return recorded, err
}
