package pgstore

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// validKeys tells what is wrong with the keys of the arguments, or with one of these.
func validKeys[A any](args []A, key func(A) (string, error)) error {
	var seen map[string]bool // none for the one argument that most calls have
	if len(args) > 1 {
		seen = make(map[string]bool, len(args))
	}
	for _, a := range args {
		k, err := key(a)
		if err == nil {
			err = validText(k, "Key", k)
		}
		if err != nil {
			return err
		}
		if seen[k] {
			return fmt.Errorf("%w: Key %q stands twice in one call", store.ErrInvalidArgument, k)
		}
		if seen != nil {
			seen[k] = true
		}
	}
	return nil
}

// validText refuses text that Postgres cannot store, where it decides something
// and a replacement would make two values one.
func validText(key, field, value string) error {
	if storable(value) {
		return nil
	}
	return fmt.Errorf("%w: key %q: %s has invalid UTF-8 or a zero byte", store.ErrInvalidArgument, key, field)
}

func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// forPeople makes text storable that nothing depends on.
func forPeople(s string) string {
	if storable(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// validReservation checks a reservation and returns its key.
func validReservation(r store.Reservation) (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	for _, text := range []struct{ field, value string }{
		{"Hashes", r.Hashes[0]}, {"Lineage", r.Lineage}, {"Invocation", r.Invocation},
	} {
		if err := validText(r.Key, text.field, text.value); err != nil {
			return "", err
		}
	}
	return r.Key, nil
}

// column makes an array of one field of the arguments.
func column[A, T any](args []A, field func(*A) T) []T {
	out := make([]T, len(args))
	for i := range args {
		out[i] = field(&args[i])
	}
	return out
}

// argument is the column of a field, or the field itself for the form for one row.
func argument[A, T any](args []A, one bool, field func(*A) T) any {
	if one {
		return field(&args[0])
	}
	return column(args, field)
}

// reservationArgs are the arguments $1 to $18 of the statements that write a
// reservation.
func reservationArgs[A any](args []A, one bool, of func(*A) *store.Reservation) []any {
	text := func(field func(*store.Reservation) string) any {
		return argument(args, one, func(a *A) string { return field(of(a)) })
	}
	number := func(field func(*store.Reservation) int64) any {
		return argument(args, one, func(a *A) int64 { return field(of(a)) })
	}
	type res = store.Reservation
	return []any{
		text(func(r *res) string { return r.Key }),
		text(func(r *res) string { return r.Hashes[0] }),
		text(func(r *res) string { return r.Token.String() }),
		number(func(r *res) int64 { return microseconds(r.Lease) }),
		number(func(r *res) int64 { return microseconds(r.Retention) }),
		text(func(r *res) string { return string(r.Policy) }),
		text(func(r *res) string { return r.Lineage }),
		text(func(r *res) string { return r.Invocation }),
		text(func(r *res) string { return forPeople(r.Namespace) }),
		text(func(r *res) string { return forPeople(r.WorkflowID) }),
		text(func(r *res) string { return forPeople(r.RunID) }),
		text(func(r *res) string { return forPeople(r.ActivityID) }),
		text(func(r *res) string { return forPeople(r.ActivityType) }),
		number(func(r *res) int64 { return scheduled(r.ScheduledAt) }),
		number(func(r *res) int64 { return int64(min(max(r.Attempt, math.MinInt32), math.MaxInt32)) }),
		text(func(r *res) string { return forPeople(r.Owner) }),
		text(func(r *res) string { return forPeople(r.TraceParent) }),
		number(func(r *res) int64 { return int64(r.Generation) }),
		store.RecordVersion,
	}
}

// microseconds rounds up: a lease must not become shorter than its caller thinks.
func microseconds(d time.Duration) int64 {
	us := d.Microseconds()
	if time.Duration(us)*time.Microsecond < d {
		us++
	}
	return us
}

// scheduled returns the time as Postgres keeps it, or the lowest number, which the
// statements take for NULL, if it is not known or has no year of four digits in every
// zone that a session may have: pgx would not read the text of another.
func scheduled(t time.Time) int64 {
	if year := t.UTC().Year(); t.IsZero() || year < 2 || year > 9998 {
		return math.MinInt64
	}
	return t.UnixMicro()
}
