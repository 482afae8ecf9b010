// Package owner carries in a context the execution that owns a record, so that a
// store can complete the record in a transaction of the body's own. It is what the
// activity side and the stores share, and must know neither Temporal nor SQL.
//
// The life of a transaction: [Execution.Begin] claims it, the store locks the
// record by [Transaction.Lease], runs the body's function, writes the settlement
// that [Transaction.Complete] makes of its result, calls [Transaction.Committing],
// commits, and ends with exactly one of Committed, RolledBack and Doubtful.
package owner

import (
	"context"
	"errors"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// ErrNotDeduplicated appears, wrapped in an error that says what was called, where
// there is no record to work with: outside an activity, in one without a policy,
// in an exempt call, and in one that runs unprotected.
var ErrNotDeduplicated = errors.New("dedupe: the call has no record")

// ErrLeaseLost is the cause with which a body's context is cancelled when another
// execution has taken its record over.
var ErrLeaseLost = errors.New("dedupe: lease lost: another execution has taken this call over")

// Execution is one run of a body that has a record.
type Execution interface {
	// Store is the store that has the record, as the program gave it.
	Store() store.Store
	// Begin claims the execution's transaction. Its error says why there can be
	// none: another one is running or has committed, or this is an effect.
	Begin() (Transaction, error)
}

// Transaction is how a store completes the record of an execution. Its errors are
// for the body to return: the activity side knows them again.
type Transaction interface {
	// Lease names the record and the token that must stand in it.
	Lease() store.Lease
	// Patience is how long the store may take to find out how a commit ended.
	Patience() time.Duration
	// Complete makes the settlement of the body's result. remember is false for a
	// result that is not final: its writes are committed, and nothing recorded.
	Complete(ctx context.Context, result any) (s store.Settlement, remember bool, err error)
	// Answer reads the recorded result of the call into a pointer, where the record
	// was completed by somebody else. It answers false if there is none.
	Answer(ctx context.Context, found store.Record, into any) (bool, error)

	// Committing ends the renewing of the lease: from here on the record is locked
	// until it is completed, or RolledBack is called.
	Committing()
	// Committed says that the transaction, and its settlement if any, stands.
	Committed()
	// RolledBack says that nothing of the transaction stands.
	RolledBack()
	// Doubtful says that nobody knows, and returns the error to give to the body.
	Doubtful(err error) error

	// Lost is the error of an execution whose record has another owner.
	Lost() error
	// Unavailable is the error of a database that did not do its part.
	Unavailable(err error) error
	// Serialization is the error of a transaction that lost against a concurrent
	// one: nothing of it stands, and Temporal tries again.
	Serialization(err error) error
}

type key struct{}

// With returns a context that belongs to an execution.
func With(ctx context.Context, e Execution) context.Context {
	return context.WithValue(ctx, key{}, e)
}

// From returns the execution that a context belongs to, or nil.
func From(ctx context.Context) Execution {
	e, _ := ctx.Value(key{}).(Execution)
	return e
}
