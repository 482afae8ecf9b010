package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	database databaseFlags
	output   outputFlag
	options  doctor.Options
	config   string
	strict   bool
}

func newDoctor(env Env) *cobra.Command {
	flags := &doctorFlags{}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what weakens the protection, and say what to do",
		Long: `Look for conditions under which the records protect less than they should, or
soon will: in the database, in the records, and in a Temporal namespace if
--temporal-address names one. Changes nothing, and bounds each of its checks.
Use the URL that the workers use: role, search_path and exec mode are looked at.

On a healthy system the table is empty. A check that cannot be made counts as a
failure. The API key of Temporal is read from TEMPORAL_API_KEY.

Exit codes:
  0  no check failed; there may be warnings, which count with --strict
  1  nothing could be looked at, or every check was skipped
  2  wrong arguments
  4  a check failed`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return flags.run(c, env) },
	}
	flags.register(c)
	return c
}

func (f *doctorFlags) register(c *cobra.Command) {
	f.database.register(c)
	f.output.register(c)
	flags, o := c.Flags(), &f.options
	flags.BoolVar(&f.strict, "strict", false, "exit with 4 on warnings too")
	flags.StringSliceVar(&o.Skip, "skip", nil, "`checks` not to make, with commas between: those whose findings\nare known and accepted")
	flags.StringVar(&f.config, "config", "", "`file` of policies, for the retention of each activity type;\ndefaults to what the records tell of it")
	flags.StringVar(&o.Temporal.Address, "temporal-address", "", "`host:port` of Temporal's frontend; defaults to not looking at it")
	flags.StringVar(&o.Temporal.Namespace, "temporal-namespace", "default", "`namespace` of the workers")
	flags.BoolVar(&o.Temporal.TLS, "temporal-tls", false, "connect with TLS; implied by TEMPORAL_API_KEY")
	flags.DurationVar(&o.MaxClockDifference, "max-clock-difference", 5*time.Second, "how far this machine's clock and the database's may be apart")
	flags.DurationVar(&o.MaxSweepAge, "max-sweep-age", time.Hour, "how long ago the last eviction may have ended, and how long a\nrecord may be kept beyond its retention")
	flags.DurationVar(&o.StuckAfter, "stuck-after", time.Hour, "how long nobody may have looked after a record whose lease is\nover, and how long a transaction may be open")
	flags.Int64Var(&o.MaxBytes, "max-bytes", 64<<30, "size in `bytes` that the records and their indexes may have")
	flags.Int64Var(&o.SampleBytes, "sample-bytes", 200<<20, "how many `bytes` of the records a check may read where no index\nhelps; it looks at a sample of a larger table")
	flags.DurationVar(&o.Timeout, "timeout", 10*time.Second, "bound of each check")
}

func (f *doctorFlags) run(c *cobra.Command, env Env) (err error) {
	if err := f.output.validate(); err != nil {
		return err
	}
	for _, name := range []string{"max-clock-difference", "max-sweep-age", "stuck-after", "timeout"} {
		if d, err := c.Flags().GetDuration(name); err != nil || d < time.Millisecond {
			return usagef("dedupe: --%s must be 1ms or more, not %v", name, d)
		}
	}
	for name, n := range map[string]int64{"max-bytes": f.options.MaxBytes, "sample-bytes": f.options.SampleBytes} {
		if n < 1 {
			return usagef("dedupe: --%s must be 1 or more, not %d", name, n)
		}
	}
	for _, name := range f.options.Skip {
		if !slices.ContainsFunc(doctor.Checks(), func(c doctor.Check) bool { return c.Name == name }) {
			return usagef("dedupe: --skip: there is no check %q; docs/doctor.md lists them, and so does --output json", name)
		}
	}
	for _, name := range []string{"temporal-namespace", "temporal-tls"} {
		if c.Flags().Changed(name) && f.options.Temporal.Address == "" {
			return usagef("dedupe: --%s needs --temporal-address: without it Temporal is not looked at", name)
		}
	}
	if f.config != "" {
		if f.options.Config, err = readConfig(env, f.config); err != nil {
			return err
		}
	}
	f.options.Schema = f.database.schema
	f.options.Temporal.APIKey = env.Getenv("TEMPORAL_API_KEY")
	if f.options.DatabaseURL, _, err = f.database.resolve(env); err != nil {
		return err
	}
	report, err := doctor.Run(c.Context(), f.options)
	if err != nil {
		return err
	}
	if err := f.output.print(env.Out, report, func(out io.Writer) error { return printFindings(out, report) }); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(env.Err, summary(report))
	if report.Count(doctor.Skipped) == len(report.Results) {
		return errors.New("dedupe: doctor: every check was skipped, so that nothing was looked at: leave some out of --skip")
	}
	if report.Failed(f.strict) {
		return &exitError{code: ExitUnhealthy}
	}
	return nil
}

// printFindings prints what is not well, and nothing else.
func printFindings(out io.Writer, report doctor.Report) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range report.Results {
		if r.Status == doctor.OK || r.Status == doctor.Skipped {
			continue
		}
		for _, finding := range r.Findings {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", strings.ToUpper(string(r.Status)), r.Check, oneLine(finding))
		}
		_, _ = fmt.Fprintf(table, "\t\tto do: %s\n", r.Remedy)
	}
	return table.Flush()
}

// oneLine keeps a finding, which can quote a server, in its row.
func oneLine(text string) string { return plain(strings.Join(strings.Fields(text), " ")) }

// summary counts the checks by how they ended.
func summary(report doctor.Report) string {
	text := fmt.Sprintf("dedupe: %d checks", len(report.Results))
	for _, status := range []doctor.Status{doctor.OK, doctor.Warning, doctor.Failure, doctor.Unknown, doctor.Skipped} {
		if n := report.Count(status); n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}
