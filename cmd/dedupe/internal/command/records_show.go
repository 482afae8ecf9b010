package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// maxTrail is how many changes of a record are shown with it.
const maxTrail = 20

// shown is everything that there is to say about a record.
type shown struct {
	entryJSON
	// NextAttempt and NextScheduling say what the next attempts would get.
	NextAttempt    string    `json:"next_attempt"`
	NextScheduling string    `json:"next_scheduling"`
	UI             string    `json:"ui,omitempty"`
	Result         []payload `json:"result,omitempty"`
	Failure        []cause   `json:"failure,omitempty"`
	// Effects are the records of the effects inside an activity (dedupe.Do).
	Effects     []entryJSON `json:"effects"`
	MoreEffects bool        `json:"more_effects"`
	Audit       []auditJSON `json:"audit"` // null where the user may not read it
	MoreAudit   bool        `json:"more_audit"`
}

func newRecordsShow(env Env, flags *adminFlags) *cobra.Command {
	var output outputFlag
	var result bool
	var ui string
	c := &cobra.Command{
		Use:   "show KEY",
		Short: "Show all that is known about a record, and what the next attempt would get",
		Long: `Show all that is known about a record: how it stands, whose it is and for how
long, what the next attempt would get, which key the provider knows, the records of the
effects inside it (dedupe.Do) with theirs, what operators have done before, and where
the workflow is in Temporal's UI.

Its result or failure is read and printed with --result only: JSON and protocol
buffers as text, everything else by its encoding and size. What the client has
encrypted stays so.`,
		Args: oneKey,
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.validate(); err != nil {
				return err
			}
			if ui == "" {
				ui = env.Getenv("DEDUPE_UI_ADDRESS")
			}
			a, err := flags.open(c.Context(), env, reads)
			if err != nil {
				return err
			}
			defer a.close()
			return show(c.Context(), env, a, args[0], output, ui, result)
		},
	}
	c.Flags().BoolVar(&result, "result", false, "read and print the result or the failure")
	c.Flags().StringVar(&ui, "ui-address", "", "`URL` of Temporal's UI, for a link;\ndefaults to the environment variable DEDUPE_UI_ADDRESS")
	output.register(c)
	return c
}

// oneKey takes one argument.
func oneKey(c *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usagef("dedupe: %q takes one key: see `dedupe records list` and `dedupe records find`", c.CommandPath())
	}
	return nil
}

func show(ctx context.Context, env Env, a *admin, key string, output outputFlag, ui string, result bool) error {
	entries, err := a.Find(ctx, []string{key})
	if err != nil {
		return err
	}
	trail, older, unread := trailOf(ctx, a, key, maxTrail)
	var refused *pgconn.PgError
	switch {
	case errors.As(unread, &refused): // the record is worth showing all the same
		_, _ = fmt.Fprintln(env.Err, lines(fmt.Sprintf("the audit trail cannot be read: %v", unread)))
	case unread != nil:
		return unread
	}
	if len(entries) == 0 {
		if len(trail) > 0 {
			_, _ = fmt.Fprintln(env.Err, "the record is gone; what operators did to it:")
			_ = printTrail(env.Err, trail, false)
		}
		return fmt.Errorf("%w: key %q: `dedupe records find` looks by workflow", store.ErrNotFound, key)
	}
	e := entries[0]
	effects, more, err := effectsOf(ctx, a, key)
	if err != nil {
		return err
	}
	s := shown{entryJSON: newEntryJSON(e), UI: link(ui, e), Effects: newEntriesJSON(effects), MoreEffects: more, Audit: newTrailJSON(trail), MoreAudit: older}
	read := unread == nil
	if !read {
		s.Audit = nil
	}
	s.NextAttempt, s.NextScheduling = next(e)
	if result {
		record, err := a.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if s.Result, err = payloads(record.Result); err != nil {
			return err
		}
		if s.Failure, err = causes(record.Failure); err != nil {
			return err
		}
	}
	err = output.print(env.Out, s, func(out io.Writer) error {
		if err := printShown(out, e, s, result); err != nil {
			return err
		}
		if err := printEffects(out, effects); err != nil {
			return err
		}
		if !read {
			return nil
		}
		return printTrail(out, trail, false)
	})
	if err == nil && older {
		_, err = fmt.Fprintf(env.Err, "there are older changes than these %d: see `dedupe records audit`\n", len(trail))
	}
	return err
}

// link is the address of the record's run in Temporal's UI.
func link(ui string, e store.Entry) string {
	if ui == "" || e.WorkflowID == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s/%s/history",
		strings.TrimSuffix(ui, "/"), url.PathEscape(e.Namespace), url.PathEscape(e.WorkflowID), url.PathEscape(e.RunID))
}

func printShown(out io.Writer, e store.Entry, s shown, result bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("key", "%s", plain(e.Key))
	line("short key", "%s, in logs and on spans", s.ShortKey)
	line("mark", "%s", s.Mark)
	line("state", "%s", state(e))
	if e.Held {
		line("held since", "%s: nobody knows whether it had its effect", when(e.HeldSince))
	}
	line("effect", "%s", effect(e))
	line("next attempt", "%s (the policy is %s)", s.NextAttempt, e.Policy)
	if s.NextScheduling != s.NextAttempt {
		line("other scheduling", "%s", s.NextScheduling)
	}
	line("lease", "%s", lease(e))
	line("last owner", "%s", or(e.Owner))
	line("attempt", "%d, scheduled %s", e.Attempt, when(e.ScheduledAt))
	line("executions", "%d have owned it so far", e.Acquisitions)
	line("activity", "%s, ID %s", or(e.ActivityType), or(e.ActivityID))
	line("workflow", "%s, in namespace %s", or(e.WorkflowID), or(e.Namespace))
	line("run", "%s", or(e.RunID))
	if s.UI != "" {
		line("ui", "%s", plain(s.UI))
	}
	line("first seen", "%s", when(e.CreatedAt))
	line("last change", "%s", when(e.UpdatedAt))
	line("kept until", "%s%s", when(e.ExpiresAt), beyond(e))
	line("fingerprint", "%s", plain(e.Hash))
	line("lineage", "%s", or(e.Lineage))
	line("trace", "%s", or(e.TraceParent))
	line("generation", "%d", e.Generation)
	line("provider key", "%s, what dedupe.Key gave %s: the provider knows the call by it", s.ProviderKey, whereKeyIs(e.Key))
	if e.Status != store.StatusCompleted {
		line("fresh key", "%s, after release --fresh-key", activity.RecordProviderKey(e.Key, e.Generation+1))
	}
	if len(s.Effects) > 0 {
		line("effects", "%s, below: what was sent within dedupe.Do, the provider knows by their keys", countEffects(s))
	}
	line("result", "%s", outcome(e.HasResult || e.Status == store.StatusCompleted && e.Tombstone == "", e.ResultSize, result))
	line("failure", "%s", outcome(e.FailureSize > 0, e.FailureSize, result))
	if err := table.Flush(); err != nil {
		return err
	}
	for i, p := range s.Result {
		if _, err := fmt.Fprintf(out, "\nresult, payload %d of %d:\n%s\n", i+1, len(s.Result), p.text()); err != nil {
			return err
		}
	}
	for i, f := range s.Failure {
		if _, err := fmt.Fprintf(out, "\n%s:\n%s\n", [...]string{"failure", "caused by"}[min(i, 1)], f.text()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out)
	return err
}

// beyond says why a record outlives its retention.
func beyond(e store.Entry) string {
	if e.Held || e.LeaseLive() || e.EffectPossible && e.Policy != store.Reexecute {
		return ", and beyond that for as long as nobody knows its outcome"
	}
	return ""
}

func effect(e store.Entry) string {
	switch {
	case e.Status == store.StatusCompleted:
		return "made, and recorded"
	case e.EffectPossible && e.LeaseLive():
		return "possible, its execution is at work"
	case e.EffectPossible:
		return "possible: the body was started, and nobody has said how it ended"
	default:
		return "none"
	}
}

func outcome(is bool, size int64, printed bool) string {
	switch {
	case !is:
		return "none"
	case printed:
		return fmt.Sprintf("%d bytes, below", size)
	default:
		return fmt.Sprintf("%d bytes, shown by --result", size)
	}
}
