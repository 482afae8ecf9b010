package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// report prints what the demo does and judges how it ended.
type report struct {
	out  io.Writer
	env  *environment
	shop *shop
}

func (r report) line(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format+"\n", args...) }

// before announces the run.
func (r report) before(deduplicated bool) {
	lost := 0
	for i := range r.shop.orders {
		if faultOf(i).losesCompletion {
			lost++
		}
	}
	r.line("Faults    %d of %d charges lose their completion after the money was taken; "+
		"in the other orders an activity fails once before its effect", lost, len(r.shop.orders))
	if !deduplicated {
		r.line("Dedupe    off: every attempt runs its activity")
	}
	r.line("\nPaying %d orders ...\n", len(r.shop.orders))
}

// after prints a line per order, where the records are, and the verdict as the
// last line. The numbers of an order are those of its ChargePayment.
func (r report) after(ctx context.Context, outcomes []outcome) (fine bool, err error) {
	table := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "ORDER\tAMOUNT\tATTEMPTS\tCHARGES\tREPLAYS\tFAULT")
	var v verdict
	for i, o := range outcomes {
		charges, c := r.shop.provider.Charges(o.order.ID), r.shop.tally.Of(o.order.ID)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\n", o.order.ID, euros(o.order.Cents),
			c.attempts, len(charges), c.replays, faultOf(i).String()+v.judge(o, charges, r.shop.books))
	}
	_ = table.Flush()
	lost := r.shop.faults.lostCompletions()
	r.line("\nCompletions lost on the way to Temporal: %d", lost)
	if err := r.records(ctx); err != nil {
		return false, err
	}
	if lost == 0 {
		v.faults++
		r.line("\nNO FAULT WAS MET: this run shows nothing")
	}
	r.line("\n%d orders, %d charges, %d duplicates", len(outcomes), v.charges, v.duplicates)
	return v.faults == 0, nil
}

// records prints what the metric and the table tell of the run.
func (r report) records(ctx context.Context) error {
	counted, err := r.shop.executions(ctx)
	if err != nil {
		return err
	}
	if counted != "" {
		r.line("Executions, as the counter dedupe.outcome has them: %s", counted)
	}
	if r.env.records == nil {
		return nil
	}
	if r.env.records.pool == nil {
		r.line("\nThe records were in memory; there is no table to look at.")
		return nil
	}
	prefix := prefixOf(r.shop.orders)
	rows, total, err := r.env.records.excerpt(ctx, prefix)
	if err != nil {
		return err
	}
	r.line("\n%d records of this run in idempotency_records, the first %d charges:", total, len(rows))
	table := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "KEY\tSTATUS\tACQUISITIONS")
	for _, row := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\n", row.Key, row.Status, row.Acquisitions)
	}
	_ = table.Flush()
	r.line("\n%s", r.env.howToLook(prefix))
	return nil
}

// verdict sums up the orders.
type verdict struct{ charges, duplicates, faults int }

// judge counts an order's charges and says what is wrong with how it
// ended, if anything.
func (v *verdict) judge(o outcome, charges []string, books *Books) (fault string) {
	v.charges += len(charges)
	v.duplicates += max(len(charges)-1, 0)
	entries, receipts := books.Of(o.order.ID)
	switch {
	case o.err != nil:
		fault = fmt.Sprintf("NOT PAID: %v", o.err)
	case len(charges) == 0:
		fault = "NOT PAID"
	case len(charges) > 1:
		fault = "DUPLICATE"
	case !slices.Contains(charges, o.receipt.ChargeID):
		fault = fmt.Sprintf("WRONG RECEIPT: it names the charge %q", o.receipt.ChargeID)
	case entries != 1 || receipts != 1:
		fault = fmt.Sprintf("WRONG BOOKS: %d ledger entries, %d receipts", entries, receipts)
	default:
		return ""
	}
	v.faults++
	return ": " + fault
}
