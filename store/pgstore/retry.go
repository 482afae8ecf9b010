package pgstore

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A call tries again after firstPause, then after twice as long each time until
// maxPause, always with jitter: workers that lost the same server must not come
// back in step.
const (
	firstPause = 10 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// retried calls do until it succeeds, fails for a reason that again does not
// accept, or runs out of time. The error is that of the last try which
// the call's own end did not cut short: it says more.
func retried[R any](
	ctx context.Context, again func(error) bool, do func(context.Context) (R, error),
) (R, error) {
	var last error
	for try := 0; ; try++ {
		answer, err := do(ctx)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil && last != nil:
			return answer, last
		case ctx.Err() != nil || !again(err):
			return answer, err
		}
		last = err
		if !pause(ctx, try) {
			return answer, last
		}
	}
}

// pause waits before the next try, and tells whether there is time for one.
func pause(ctx context.Context, try int) bool {
	limit := min(firstPause<<min(try, 16), maxPause)
	d := limit/2 + rand.N(limit/2)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// SQLSTATE codes that decide something here; whole classes are two letters.
const (
	codeReadOnly          = "25006"
	codeNoSuchStatement   = "26000"
	codeStatementExists   = "42P05"
	codeUndefinedTable    = "42P01"
	codeUndefinedColumn   = "42703"
	codeNoPrivilege       = "42501"
	codeSerialization     = "40001"
	codeDeadlock          = "40P01"
	codeCancelled         = "57014"
	codeLockTimeout       = "55P03"
	codeNoSavepoint       = "3B001"
	codeChangedPlan       = "0A000" // a column has another type: the driver prepares anew
	classConnection       = "08"
	classData             = "22"
	classConstraint       = "23"
	classResources        = "53"
	classOperator         = "57P0"
	classAuthorization    = "28"
	classTransaction      = "25" // read-only, for instance
	classUnsupported      = "0A"
	classSyntax           = "42" // names and privileges
	classStatement        = "26"
	codeUndefinedDatabase = "3D000"
)

// retryable tells whether the same statement may succeed in a moment. What the
// database answered about a record is never an error, so nothing of that kind
// comes here.
func retryable(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && lasting(connect) {
		return false
	}
	if code := sqlState(err); code != "" {
		switch code {
		case codeSerialization, codeDeadlock, codeCancelled, codeLockTimeout, codeChangedPlan:
			return true
		}
		return strings.HasPrefix(code, classConnection) || strings.HasPrefix(code, classResources) ||
			strings.HasPrefix(code, classOperator)
	}
	var scan scanError
	return !errors.As(err, &scan) && lostConnection(err)
}

// divisible tells whether one row may have failed a statement of many: the database
// refused it, waited for it in vain, or answered what cannot be read. Triggers and
// damaged pages may use any code, so that it is told from what concerns all rows alike.
func divisible(err error) bool {
	var scan scanError
	if errors.As(err, &scan) {
		return true
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == codeNoPrivilege {
		return answer.Routine == "ExecWithCheckOptions" // row-level security
	}
	code := sqlState(err)
	return code != "" && !slices.ContainsFunc(classesOfAll, func(class string) bool { return strings.HasPrefix(code, class) })
}

// classesOfAll are the classes of errors that every row would meet.
var classesOfAll = []string{
	classConnection, classResources, classOperator, classAuthorization, classTransaction, classUnsupported,
	classSyntax, classStatement, codeUndefinedDatabase,
}

// dataFault tells whether the database refused a value.
func dataFault(code string) bool {
	return strings.HasPrefix(code, classData) || strings.HasPrefix(code, classConstraint)
}

func lostConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// sqlState returns the SQLSTATE of the database's answer, empty if there is none.
func sqlState(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}
