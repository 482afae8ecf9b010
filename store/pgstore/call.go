package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// carryOut is one call of a method that serves many arguments: it refuses bad
// arguments and a closed store, bounds the call, and answers everything or the
// first error. do answers for each argument by itself, so that callers whose
// arguments share a statement need not share a failure.
func carryOut[A, R any](
	ctx context.Context, s *Store, name string, args []A,
	key func(A) (string, error), do func(context.Context, []A) ([]R, []error),
) ([]R, error) {
	if err := s.requireOpen(name); err != nil {
		return nil, err
	}
	if err := validKeys(args, key); err != nil || len(args) == 0 {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	answers, errs := do(bounded, args)
	for i, err := range errs {
		if err != nil {
			k, _ := key(args[i])
			err = s.fault(ctx, name, k, err)
			var f *fault
			if errors.As(err, &f) {
				f.unchanged = !slices.ContainsFunc(errs, func(err error) bool { return err == nil || unanswered(err) })
			}
			return nil, err
		}
	}
	return answers, nil
}

// once is one call of a method that is carried out as a whole.
func once[R any](ctx context.Context, s *Store, name, key string, do func(context.Context) (R, error)) (R, error) {
	var none R
	if err := s.requireOpen(name); err != nil {
		return none, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	answer, err := retried(bounded, retryable, do)
	if err != nil {
		return none, s.fault(ctx, name, key, err)
	}
	return answer, nil
}

// sharing carries out rows, each once, and answers for each by itself: with a
// statement of their own, or with one that other calls' rows travel in too.
type sharing[A, R any] func(context.Context, []A) ([]R, []error)

// errDivide marks the rows whose statement failed because of one of them.
var errDivide = errors.New("dedupe: pgstore: a statement of several rows failed because of one of them")

// divides tells whether each of the rows whose statements failed together is to go
// alone from now on. One that waited for its key in vain is, even if it was the only
// one: who waits alone takes turns with others who do.
func divides(err error, rows int) bool {
	code := sqlState(err)
	return divisible(err) && (rows > 1 || code == codeLockTimeout || code == codeCancelled)
}

// direct sends the rows in one statement of their own.
func direct[A, R any](do func(context.Context, []A) ([]R, error)) sharing[A, R] {
	return func(ctx context.Context, rows []A) ([]R, []error) {
		answers, err := do(ctx, rows)
		if err != nil {
			return make([]R, len(rows)), slices.Repeat([]error{err}, len(rows))
		}
		return answers, make([]error, len(rows))
	}
}

// dividing has rows go alone whose statement failed because of one of them.
func dividing[A, R any](share sharing[A, R]) sharing[A, R] {
	return func(ctx context.Context, rows []A) ([]R, []error) {
		answers, errs := share(ctx, rows)
		for i, err := range errs {
			if divides(err, len(rows)) {
				errs[i] = errDivide
			}
		}
		return answers, errs
	}
}

// carryRows carries out rows with those of other calls, and those whose statement failed because
// of one of them each by itself, until they have succeeded, failed for a reason
// that stays, or run out of time. Its errors are the driver's, those of
// the last try which the call's own end did not cut short: they say more.
func carryRows[A, R any](ctx context.Context, rows []A, k kind[A, R]) ([]R, []error) {
	answers, errs := k.share(ctx, rows)
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return answers, errs
	}
	b := &attempts[A, R]{rows: rows, answers: answers, errs: errs, divided: make([]bool, len(rows)), lost: make([]bool, len(rows))}
	b.note(errs, nil)
	todo := make([]int, len(rows))
	for i := range todo {
		todo[i] = i
	}
	for try := 0; ; try++ {
		b.divide(ctx, todo, k.alone)
		todo = slices.DeleteFunc(todo, func(i int) bool { return b.errs[i] == nil || !retryable(b.errs[i]) })
		if len(todo) == 0 || ctx.Err() != nil || !pause(ctx, try) {
			return b.answers, b.final()
		}
		if together := slices.DeleteFunc(slices.Clone(todo), func(i int) bool { return b.divided[i] }); len(together) > 0 {
			b.set(ctx, together, k.share)
		}
	}
}

// attempts is what became of the rows of a batch so far.
type attempts[A, R any] struct {
	rows    []A
	answers []R
	errs    []error
	divided []bool // rows that go alone from now on
	lost    []bool // rows of which an answer was lost
}

// note keeps in mind whose answers were lost. at is nil for all rows.
func (b *attempts[A, R]) note(errs []error, at []int) {
	for j, err := range errs {
		i := j
		if at != nil {
			i = at[j]
		}
		b.lost[i] = b.lost[i] || unanswered(err)
	}
}

// final are the errors of the rows. What a later try met says nothing of one before it
// that may have been carried out.
func (b *attempts[A, R]) final() []error {
	for i, err := range b.errs {
		if err != nil && b.lost[i] && !unanswered(err) {
			b.errs[i] = lostBefore{err}
		}
	}
	return b.errs
}

// lostBefore is an error of a row of which an earlier answer was lost.
type lostBefore struct{ error }

func (l lostBefore) Unwrap() error { return l.error }

// unanswered tells whether the statement that failed so may have been carried out: it
// was sent, and the server has not said how it ended. A server that is shut down may
// have committed before it says so.
func unanswered(err error) bool {
	var connect *pgconn.ConnectError
	var before lostBefore
	switch code := sqlState(err); {
	case errors.As(err, &before):
		return true
	case err == nil, errors.Is(err, errDivide), errors.As(err, &connect), pgconn.SafeToRetry(err):
		return false
	default:
		return code == "" || strings.HasPrefix(code, classConnection) || strings.HasPrefix(code, classOperator)
	}
}

// divide tries by itself each of the rows at the places todo whose statement was
// to be divided, now or before.
func (b *attempts[A, R]) divide(ctx context.Context, todo []int, alone sharing[A, R]) {
	for _, i := range todo {
		if b.divided[i] = b.divided[i] || errors.Is(b.errs[i], errDivide); b.divided[i] {
			b.set(ctx, []int{i}, alone)
		}
	}
}

// set carries the rows at some places out and keeps what came of it.
func (b *attempts[A, R]) set(ctx context.Context, at []int, do sharing[A, R]) {
	rows := make([]A, len(at))
	for j, i := range at {
		rows[j] = b.rows[i]
	}
	answers, errs := do(ctx, rows)
	b.note(errs, at)
	for j, i := range at {
		if errs[j] != nil && ctx.Err() != nil && b.errs[i] != nil && !errors.Is(b.errs[i], errDivide) {
			continue
		}
		b.answers[i], b.errs[i] = answers[j], errs[j]
	}
}
