package command

import "fmt"

// The exit codes of every command.
const (
	// ExitOK: done.
	ExitOK = 0
	// ExitError: it failed; standard error says why.
	ExitError = 1
	// ExitUsage: the arguments were wrong, nothing was done.
	ExitUsage = 2
	// ExitPending: `migrate status` found migrations to apply.
	ExitPending = 3
	// ExitUnhealthy: a check of `doctor` failed.
	ExitUnhealthy = 4
)

const exitHelp = `Exit codes:
  0  done
  1  failed; standard error says why
  2  wrong arguments; nothing was done
  3  migrate status: there are migrations to apply
  4  doctor: a check failed`

// usageError is a mistake in the arguments.
type usageError struct{ err error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// Error returns the mistake.
func (e *usageError) Error() string { return e.err.Error() }

// Unwrap returns the mistake.
func (e *usageError) Unwrap() error { return e.err }

// exitError ends a command with a code of its own; what there is to say has
// been printed.
type exitError struct{ code int }

// Error is never printed.
func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }
