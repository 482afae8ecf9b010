package main

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// window is a place in the life of a transfer where its worker is killed.
type window int

// The windows, in the order in which a transfer passes them.
const (
	spared            window = iota // nobody is killed
	beforeReservation               // the activity has begun, no record exists
	beforeTransaction               // the reservation is committed, the body runs
	beforeCommit                    // all is written, nothing committed
	duringCommit                    // COMMIT is on its way
	afterCommit                     // transfer and record are committed, the body runs
	beforeReport                    // the body has returned, Temporal has not heard
	afterReport                     // Temporal has acknowledged
	windows           = int(afterReport)
)

// String says where the worker dies.
func (w window) String() string {
	return [...]string{"nowhere", "before the reservation commits", "before the transaction", "in the transaction, before the commit",
		"while it commits", "after the commit, in the body", "after the body, before Temporal hears", "after Temporal has heard"}[w]
}

// reaper kills its own process, as kill -9 does, the first time that a transfer comes
// to a window.
type reaper struct{ at window }

func (r *reaper) reaps(w window) {
	if r != nil && r.at == w {
		r.kill()
	}
}

func (r *reaper) kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

// faults are those of the ledger's that the reaper makes.
func (r *reaper) faults() Faults {
	at := func(w window) func(context.Context, Transfer) error {
		return func(context.Context, Transfer) error { r.reaps(w); return nil }
	}
	return Faults{Before: at(beforeTransaction), Inside: at(beforeCommit), After: at(afterCommit)}
}

// TraceQueryStart implements pgx.QueryTracer. The kill races the commit: sometimes
// the database gets it, and sometimes not.
func (r *reaper) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if r.at == duringCommit && q.SQL == "commit" {
		go r.kill()
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *reaper) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// onTheWire kills before or after the report to Temporal.
func (r *reaper) onTheWire(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	_, report := request.(*workflowservice.RespondActivityTaskCompletedRequest)
	if report {
		r.reaps(beforeReport)
	}
	err := invoke(ctx, method, request, reply, conn, options...)
	if report && err == nil {
		r.reaps(afterReport)
	}
	return err
}

// guard puts the reaper before a store's reservations.
func (r *reaper) guard(s dedupe.Store) dedupe.Store {
	if r == nil {
		return s
	}
	return mortalStore{s, r}
}

type mortalStore struct {
	dedupe.Store
	reaper *reaper
}

// Reserve dies before the reservation reaches the database.
func (m mortalStore) Reserve(ctx context.Context, reservations []store.Reservation) ([]store.Found, error) {
	m.reaper.reaps(beforeReservation)
	return m.Store.Reserve(ctx, reservations)
}

// Unwrap lets pgstore.InTx find the store behind.
func (m mortalStore) Unwrap() store.Store { return m.Store }
