package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/remedy"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// scanError is an answer of the database that the store does not understand.
type scanError struct{ err error }

func (e scanError) Error() string { return e.err.Error() }

func (e scanError) Unwrap() error { return e.err }

// fault is the error that a caller sees: one of package store's, and a text of
// this package's own. The database's text is left out, because it quotes values,
// and errors of activities end in workflow histories. The answer itself is found
// with errors.As as a *pgconn.PgError, but is not unwrapped.
type fault struct {
	kind  error
	text  string
	cause *pgconn.PgError

	unchanged bool // see Unchanged
}

// Error returns the kind and the text.
func (f *fault) Error() string { return f.kind.Error() + ": " + f.text }

// Unwrap returns the error of package store.
func (f *fault) Unwrap() error { return f.kind }

// Unchanged tells whether an error of a call that writes says that nothing was
// written: the database has refused every record of the call, each time, or was never
// reached. Otherwise an answer may have been lost, and only a look can tell.
func Unchanged(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.unchanged
}

// As gives the database's answer to whoever asks for it by its type.
func (f *fault) As(target any) bool {
	answer, ok := target.(**pgconn.PgError)
	if ok && f.cause != nil {
		*answer = f.cause
	}
	return ok && f.cause != nil
}

// fault translates an error of the driver for the caller. ctx is the caller's.
func (s *Store) fault(ctx context.Context, name, key string, err error) error {
	for _, typed := range []error{store.ErrInvalidArgument, store.ErrNotFound, store.ErrSchema, store.ErrUnavailable, store.ErrContended} {
		if errors.Is(err, typed) {
			return err
		}
	}
	if err := s.requireOpen(name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		if cut := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); cut {
			return fmt.Errorf("dedupe: %s: %w", name, ctx.Err())
		}
		return fmt.Errorf("dedupe: %s: %w; the last error was: %s", name, ctx.Err(), s.describe(err))
	}
	var connect *pgconn.ConnectError
	f := &fault{kind: store.ErrUnavailable, text: name + ": " + s.describe(err)}
	errors.As(err, &f.cause)
	switch code := sqlState(err); {
	case dataFault(code) && !errors.As(err, &connect): // then it is no value of the call's
		f.kind = store.ErrInvalidArgument
		f.text = fmt.Sprintf("%s: key %q: %s", name, key, describe(err))
	case code == codeUndefinedTable, code == codeUndefinedColumn:
		f.kind = store.ErrSchema
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &connect):
		f.text = fmt.Sprintf("%s: no answer within %v", name, s.options.CallTimeout)
	}
	return f
}

// describe is describe for who knows where the tables are. The name of a table is all
// that is taken out of the database's text.
func (s *Store) describe(err error) string {
	var connect *pgconn.ConnectError
	var answer *pgconn.PgError
	if errors.As(err, &connect) || !errors.As(err, &answer) {
		return describe(err)
	}
	table := tableIn(answer)
	switch answer.Code {
	case codeUndefinedTable, codeUndefinedColumn:
		text := meaning(answer.Code)
		if table != "" {
			text = "the table " + table + " is missing, or not in the search_path"
		}
		return fmt.Sprintf("%s: %s (SQLSTATE %s)", text, s.options.remedy(), answer.Code)
	case codeNoPrivilege:
		if table != "" {
			return fmt.Sprintf("the database user lacks a privilege on the table %s (SQLSTATE %s)", table, answer.Code)
		}
	}
	return describe(err)
}

// remedy is what to do about tables that are missing or old.
func (o Options) remedy() string {
	return "run " + remedy.Up(o.Schema, "--database-url …") + ", or where that finds nothing to do, " + remedy.Create(o.Schema)
}

// tableIn is the table that an answer is about. Its text is in the language of the
// server, but names are not translated.
func tableIn(answer *pgconn.PgError) string {
	words := strings.FieldsFunc(answer.Message, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, table := range []string{auditTable, maintenanceTable, serverTable, versionTable, recordsTable} {
		if answer.TableName == table || slices.Contains(words, table) {
			return table
		}
	}
	return ""
}

// describe says what happened without quoting the database, whose texts contain
// values.
func describe(err error) string {
	var answer *pgconn.PgError
	var network *net.OpError
	var connect *pgconn.ConnectError
	var scan scanError
	switch {
	case errors.As(err, &connect):
		return "cannot connect to the database: " + reasons(connect)
	case errors.As(err, &answer):
		return answered(answer)
	case errors.As(err, &network):
		return "cannot reach the database: " + network.Error()
	case err.Error() == "closed pool": // puddle's, which pgx does not export
		return "the pool is closed"
	case errors.As(err, &scan):
		return "the database's answer could not be read: another schema?"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case lostConnection(err):
		return "the connection to the database was lost"
	default:
		return fmt.Sprintf("the driver failed with a %T", err)
	}
}

// answered says what the database has answered.
func answered(answer *pgconn.PgError) string {
	text := meaning(answer.Code)
	switch {
	case strings.HasPrefix(answer.Message, unsupportedParameter):
		text = "the pooler refuses a parameter of the connection string: " + answer.Message
	case answer.ConstraintName != "":
		text += ", constraint " + answer.ConstraintName
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", text, answer.Code)
}

// meaning puts an SQLSTATE into words and says what to do, where that is known.
func meaning(code string) string {
	switch code {
	case codeDeadlock:
		return "deadlock"
	case codeSerialization:
		return "serialization failure"
	case codeCancelled:
		return "statement cancelled, by statement_timeout or an administrator"
	case codeLockTimeout:
		return "the record is locked by another transaction"
	case codeReadOnly:
		return "the session is read-only: connect to the primary"
	case codeUndefinedTable, codeUndefinedColumn:
		return "the tables are missing or old, or not in the search_path"
	case codeNoPrivilege:
		return "the database user lacks a privilege on the tables or their schema"
	case codeUndefinedDatabase:
		return "no such database"
	case codeNoSuchStatement, codeStatementExists:
		return "prepared statements were mixed up, as behind a transaction pooler: " + poolerRemedy
	}
	switch {
	case strings.HasPrefix(code, classConnection), strings.HasPrefix(code, classOperator):
		return "the database closed the connection"
	case strings.HasPrefix(code, classResources):
		return "the database is out of connections, memory or disk"
	case strings.HasPrefix(code, classAuthorization):
		return "the database refused the login"
	case dataFault(code):
		return "the database refused a value"
	default:
		return "the database refused the statement"
	}
}
