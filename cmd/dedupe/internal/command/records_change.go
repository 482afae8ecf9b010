package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// changeBatch is how many records one statement changes.
const changeBatch = 100

// changeFlags are common to the commands that change records.
type changeFlags struct {
	selects       selectFlags
	plan, mark    string
	reason, actor string
	yes           bool
	keep          time.Duration
	output        outputFlag
}

// changeHelp ends the help of every command that changes records.
const changeHelp = `
Without --yes nothing is changed: the command prints what it would do. Records are
named by their keys, by flags that select, or by --plan, a file that a dry run with
--output json has written; what is done to them must be what was planned. A record
that is no longer as it was in the plan, or as --mark says, or that changes between
this command's look and its change, is left alone and reported. The change, the
reason and the actor stand in the audit trail for good.

Exit code 1 means that a record was not changed that should have been.`

func (f *changeFlags) register(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	f.selects.register(c, 1000)
	flags := c.Flags()
	flags.StringVar(&f.plan, "plan", "", "`file` that a dry run with --output json has written; - is standard input")
	flags.StringVar(&f.mark, "mark", "", "change the one record only if its `mark` is still this one")
	flags.StringVar(&f.reason, "reason", "", "why; required")
	flags.StringVar(&f.actor, "actor", "", "who wants it; defaults to your user and host")
	flags.BoolVar(&f.yes, "yes", false, "change the records")
	f.output.register(c)
}

// request is what a command asks of the records that are meant.
type request struct {
	// change is the change without key and state.
	change store.Change
	// says is what comes of it, for people.
	says []string
	// warns says on standard error what is wrong with changing these records; nil:
	// nothing ever is.
	warns func(io.Writer, report)
	// apply carries changes out.
	apply func(context.Context, store.Admin, store.Order, []store.Change) ([]store.Resolved, error)
}

// resolve is apply for all but purge.
func resolve(ctx context.Context, a store.Admin, o store.Order, changes []store.Change) ([]store.Resolved, error) {
	return a.Resolve(ctx, o, changes)
}

// run looks, judges, and with --yes changes.
func (f *changeFlags) run(c *cobra.Command, env Env, flags *adminFlags, keys []string, r request) error {
	order, err := f.validate(c, keys)
	if err != nil {
		return err
	}
	p, err := f.readPlan(env, r.change)
	if err != nil {
		return err
	}
	a, err := flags.open(c.Context(), env, access(!f.yes))
	if err != nil {
		return err
	}
	defer a.close()
	report := report{Verb: r.change.Named(), Digest: digest(r.change), DryRun: !f.yes, Says: r.says}
	if err := f.gather(c.Context(), a, keys, p, r.change, &report); err != nil {
		return err
	}
	if r.warns != nil {
		r.warns(env.Err, report)
	}
	var failed error
	if f.yes {
		failed = report.apply(c.Context(), a, order, r)
	}
	report.count()
	err = f.output.print(env.Out, report, func(out io.Writer) error { return report.print(out) })
	if err != nil && f.yes {
		return fmt.Errorf("dedupe: %d records were changed and %d not%s, which could not be printed (`dedupe records audit` has the changes): %w",
			report.Changed, report.NotChanged, report.unknown(), errors.Join(err, failed))
	}
	if err != nil {
		return err
	}
	switch {
	case failed != nil && report.Unknown > 0:
		return fmt.Errorf("%w: nobody knows yet which of %d records were changed: `dedupe records audit` has the changes", failed, report.Unknown)
	case failed != nil:
		return failed
	case report.More:
		return fmt.Errorf("dedupe: there may be more records than these %d: %s", len(report.Records), f.selects.rest(report.Records[len(report.Records)-1].Key))
	case report.refused > 0:
		return fmt.Errorf("dedupe: %d of %d records: not changed, see above", report.refused, len(report.Records))
	}
	return nil
}

func (f *changeFlags) validate(c *cobra.Command, keys []string) (store.Order, error) {
	ways := 0
	for _, way := range []bool{len(keys) > 0, f.plan != "", f.selects.given(c)} {
		if way {
			ways++
		}
	}
	order := store.Order{Actor: f.actor, Reason: f.reason}
	switch {
	case ways != 1:
		return order, usagef("dedupe: %q wants keys, or flags that select records, or --plan: one of the three", c.CommandPath())
	case !f.selects.given(c) && f.selects.narrows(c) != "":
		return order, usagef("dedupe: --%s goes with flags that select records, not with keys or --plan, which name them", f.selects.narrows(c))
	case f.mark != "" && len(keys) != 1:
		return order, usagef("dedupe: --mark goes with one key")
	case c.Flags().Changed("keep") && f.keep < time.Second:
		return order, usagef("dedupe: --keep must be 1s or more, not %v", f.keep)
	case f.reason == "":
		return order, usagef("dedupe: --reason is required: it stands in the audit trail")
	}
	if err := cmp.Or(checkKeys(keys), checkMark(f.mark)); err != nil {
		return order, err
	}
	f.mark = strings.ToLower(f.mark)
	if order.Actor == "" {
		order.Actor = defaultActor()
	}
	if err := order.Validate(); err != nil {
		text := strings.TrimPrefix(err.Error(), store.ErrInvalidArgument.Error()+": ")
		return order, usagef("dedupe: %s", strings.NewReplacer("Order.Actor", "--actor", "Order.Reason", "--reason").Replace(text))
	}
	if err := f.output.validate(); err != nil {
		return order, err
	}
	return order, f.selects.validate()
}

// defaultActor is who runs the command, and where.
func defaultActor() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// registerKeep adds --keep to the commands that leave a record behind.
func (f *changeFlags) registerKeep(c *cobra.Command) {
	c.Flags().DurationVar(&f.keep, "keep", 7*24*time.Hour, "keep the record for so long from now at least")
}
