// Package doctor looks at a database, and if asked at a Temporal namespace, for
// conditions under which the deduplication protects less than it says, or soon
// will. It knows what each condition looks like and what to do about it; it
// changes nothing and must not know how its findings are printed.
//
// An examination's life: [Run] opens a pool of its own, makes the checks of
// [Checks] one after the other, and closes the pool. Each check has its own
// transaction, read-only and with a statement timeout, so that one that fails
// hides no other, and none hurts a database that is sick already.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/pgurl"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/remedy"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

// Options say what to look at, and from where on a value is a finding.
type Options struct {
	// DatabaseURL is the URL that the workers use: its role, its search_path and
	// its query exec mode are looked at too. Required.
	DatabaseURL string
	// Schema is where the tables live. Defaults to wherever the connection's
	// search_path finds them.
	Schema string
	// Temporal is the namespace to look at. Defaults to none: the checks that
	// need it are skipped.
	Temporal Temporal
	// Config is the file of policies that the workers use, for the retention of
	// each activity type. Defaults to what the records tell of it.
	Config *config.Config
	// MaxClockDifference is how far the clocks of this machine and of the
	// database may be apart. Defaults to 5 s.
	MaxClockDifference time.Duration
	// MaxSweepAge is how long ago the last eviction may have ended, and how long
	// a record may be kept beyond its retention. Defaults to 1 h, which is 60
	// passes of the worker's own evictor.
	MaxSweepAge time.Duration
	// StuckAfter is how long nobody may have looked after a record whose lease
	// is over, and how long a transaction may be open. Defaults to 1 h.
	StuckAfter time.Duration
	// MaxBytes is the size that the table may have with its indexes. Defaults to
	// 64 GiB.
	MaxBytes int64
	// SampleBytes is how much of the table a check may read where no index helps;
	// of a larger one it looks at a random sample. Defaults to 200 MiB, which a
	// sick database survives.
	SampleBytes int64
	// Skip names checks that are not made, for conditions that were looked at and
	// are accepted. Checks that need what a skipped one finds are skipped too.
	// Defaults to none.
	Skip []string
	// Timeout bounds each check. Defaults to 10 s.
	Timeout time.Duration
}

// Temporal says which namespace to look at.
type Temporal struct {
	// Address is the frontend's host and port. Empty: Temporal is not looked at.
	Address string
	// Namespace defaults to "default".
	Namespace string
	// TLS asks for an encrypted connection, with the system's certificates.
	TLS bool
	// APIKey is sent as a bearer token; it asks for TLS as well.
	APIKey string
}

// validate reports the first field that cannot be used, by name.
func (o Options) validate() error {
	switch {
	case o.DatabaseURL == "":
		return errors.New("dedupe: doctor: Options.DatabaseURL is empty")
	case pgurl.SchemaFault(o.Schema) != "":
		return fmt.Errorf("dedupe: doctor: Options.Schema: %s", pgurl.SchemaFault(o.Schema))
	case o.MaxBytes < 0:
		return fmt.Errorf("dedupe: doctor: Options.MaxBytes is negative: %d", o.MaxBytes)
	case o.SampleBytes < 0:
		return fmt.Errorf("dedupe: doctor: Options.SampleBytes is negative: %d", o.SampleBytes)
	}
	for _, name := range o.Skip {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			return fmt.Errorf("dedupe: doctor: Options.Skip: there is no check %q", name)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"MaxClockDifference", o.MaxClockDifference}, {"MaxSweepAge", o.MaxSweepAge},
		{"StuckAfter", o.StuckAfter}, {"Timeout", o.Timeout},
	} {
		if d.value < 0 || d.value > 0 && d.value < time.Millisecond {
			return fmt.Errorf("dedupe: doctor: Options.%s is %v, want a millisecond or more", d.name, d.value)
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Temporal.Namespace = cmp.Or(o.Temporal.Namespace, "default")
	o.MaxClockDifference = cmp.Or(o.MaxClockDifference, 5*time.Second)
	o.MaxSweepAge = cmp.Or(o.MaxSweepAge, time.Hour)
	o.StuckAfter = cmp.Or(o.StuckAfter, time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<30)
	o.SampleBytes = cmp.Or(o.SampleBytes, 200<<20)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return o
}

// Run makes every check and reports on each. Its error says why there is no
// report: an option that cannot be used, or ctx is done. A database that cannot
// be reached is a finding.
func Run(ctx context.Context, options Options) (Report, error) {
	if err := options.validate(); err != nil {
		return Report{}, err
	}
	e, err := newExam(ctx, options.withDefaults())
	if err != nil {
		return Report{}, err
	}
	defer e.close()
	var report Report
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return Report{}, fmt.Errorf("dedupe: doctor: stopped before the check %s: %w", c.Name, err)
		}
		report.Results = append(report.Results, e.make(ctx, c))
	}
	return report, nil
}

// make makes one check.
func (e *exam) make(ctx context.Context, c Check) Result {
	r := Result{Check: c.Name, Status: OK, Findings: []string{}}
	if why := e.excuse(c); why != "" {
		r.Status, r.Findings = Skipped, []string{why}
		return r
	}
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	findings, err := c.run(bounded, e)
	switch {
	case err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded):
		r.Status = Unknown
		r.Findings = []string{fmt.Sprintf("no answer within %v: %v", e.options.Timeout, err)}
	case err != nil:
		r.Status, r.Findings = Unknown, []string{err.Error()}
	case len(findings) > 0:
		r.Status, r.Findings = c.Severity.status(), slices.Clone(findings)
	}
	switch r.Status {
	case OK:
	case Unknown:
		r.Remedy = again(err)
	default:
		r.Remedy = inSchema(c.Remedy, e.options.Schema)
	}
	return r
}

// again says what to do about a check that could not be made: what was not found needs
// no remedy.
func again(err error) string {
	var answer *pgconn.PgError
	code := ""
	if errors.As(err, &answer) {
		code = answer.Code
	}
	switch code {
	case "42501": // insufficient_privilege
		return "GRANT SELECT on what the check reads, and USAGE on its schema, to this role, and run the doctor again"
	case "55P03": // lock_not_available
		return "run the doctor again; if somebody still holds the lock, pg_locks and pg_stat_activity say who"
	}
	return "run the doctor again, with a longer --timeout if the database is slow; nobody knows whether there is anything to find"
}

// inSchema has the commands of a remedy name the schema that was looked at.
func inSchema(text, schema string) string {
	return strings.NewReplacer("`dedupe migrate up`", remedy.Up(schema), "`dedupe migrate print`", remedy.Print(schema)).Replace(text)
}
