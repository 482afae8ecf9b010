package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// The results of a record in a report; those of the store stand beside them.
const (
	resultWould   = "would change" // in a dry run
	resultSkipped = "skipped"      // selected by flags, but the verb does not fit
	resultRefused = "refused"      // named, but the verb does not fit
	resultNot     = "not changed"  // the database refused the change, or was not asked
	resultUnknown = "unknown"      // the database's answer was lost
)

// report is what a command did, or would do: printed, and read again as a plan.
type report struct {
	// Verb is the verb with its options.
	Verb string `json:"verb"`
	// Digest is that of the change, without the records.
	Digest string `json:"digest"`
	// DryRun: nothing was changed.
	DryRun bool `json:"dry_run"`
	// Says is what the verb does, for people.
	Says []string `json:"-"`
	// Records are the records in the order in which they were named or found.
	Records []reported `json:"records"`
	// Changed counts the records that were changed, or would be.
	Changed int `json:"changed"`
	// NotChanged counts the others.
	NotChanged int `json:"not_changed"`
	// Unknown counts those of which nobody knows: the database's answer was lost.
	Unknown int `json:"unknown"`
	// More: there may be records that the limit left out.
	More bool `json:"more"`

	refused int    // among NotChanged, those that should have been changed
	nothing string // what to say where no record is meant
}

// reported is one record.
type reported struct {
	Key  string `json:"key"`
	Mark string `json:"mark,omitempty"`
	// State is how the record stood when it was looked at.
	State string `json:"state,omitempty"`
	// Result is what came of it.
	Result string `json:"result"`
	// Why says why it was not changed.
	Why string `json:"why,omitempty"`

	seen store.Seen
}

// gather looks at the records that are meant, and judges them.
func (f *changeFlags) gather(ctx context.Context, a store.Admin, keys []string, p plan, c store.Change, r *report) error {
	if len(keys) == 0 && f.plan == "" {
		entries, more, err := f.selects.list(ctx, a)
		r.More, r.nothing = more, f.selects.nothing()
		for _, e := range entries {
			r.Records = append(r.Records, judge(e, "", c, resultSkipped))
		}
		return err
	}
	if f.plan != "" {
		keys = slices.Sorted(maps.Keys(p.marks))
		r.Records = append(r.Records, p.left...)
	} else {
		keys = slices.Compact(slices.Sorted(slices.Values(keys)))
		p.marks[keys[0]] = f.mark
	}
	for part := range slices.Chunk(keys, changeBatch) {
		entries, err := a.Find(ctx, part)
		if err != nil {
			return err
		}
		found := map[string]store.Entry{}
		for _, e := range entries {
			found[e.Key] = e
		}
		for _, key := range part {
			e, ok := found[key]
			if !ok {
				r.Records = append(r.Records, reported{Key: key, Result: string(store.ResolvedMissing), Why: why[store.ResolvedMissing]})
				continue
			}
			r.Records = append(r.Records, judge(e, p.marks[key], c, resultRefused))
		}
	}
	slices.SortStableFunc(r.Records, func(x, y reported) int { return strings.Compare(x.Key, y.Key) })
	return nil
}

// judge tells whether a record can be changed as it stands. unfit is the result
// where the verb does not fit it.
func judge(e store.Entry, mark string, c store.Change, unfit string) reported {
	r := reported{Key: e.Key, Mark: e.Seen().Mark(), State: state(e), Result: resultWould, seen: e.Seen()}
	switch {
	case mark != "" && mark != r.Mark:
		r.Result, r.Why = string(store.ResolvedChanged), why[store.ResolvedChanged]
	case c.Verb.Fits(e.Seen()) != "":
		r.Result, r.Why = unfit, c.Verb.Fits(e.Seen())
	case e.Version > store.RecordVersion:
		r.Result, r.Why = string(store.ResolvedNewer), why[store.ResolvedNewer]
	case e.LeaseLive() && !c.Force:
		r.Result, r.Why = string(store.ResolvedLive), why[store.ResolvedLive]
	}
	return r
}

// why puts the store's answers into words.
var why = map[store.Resolved]string{
	store.ResolvedChanged: "it is no longer as it was looked at: look again",
	store.ResolvedLive:    "somebody is at work on it",
	store.ResolvedMissing: "there is no such record",
	store.ResolvedLocked:  "a transaction has locked it: try again",
	store.ResolvedNewer:   "a later release wrote it: upgrade this program",
}

func (r *report) count() {
	for _, one := range r.Records {
		switch one.Result {
		case resultWould, string(store.ResolvedDone):
			r.Changed++
		case resultSkipped:
			r.NotChanged++
		case resultUnknown:
			r.Unknown++
		default:
			r.NotChanged++
			r.refused++
		}
	}
}

// unknown is the part of a summary about answers that were lost.
func (r *report) unknown() string {
	if r.Unknown == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unknown", r.Unknown)
}

func (r *report) print(out io.Writer) error {
	if len(r.Records) == 0 {
		_, err := fmt.Fprintln(out, cmp.Or(r.nothing, "no record matches"))
		return err
	}
	for _, says := range r.Says {
		if _, err := fmt.Fprintln(out, says); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MARK\tWAS\tRESULT\tKEY")
	for _, one := range r.Records {
		result := one.Result
		if one.Why != "" {
			result += ": " + one.Why
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", or(one.Mark), or(one.State), result, plain(one.Key))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	text := fmt.Sprintf("\n%s: %d changed, %d not%s\n", r.Verb, r.Changed, r.NotChanged, r.unknown())
	if r.DryRun {
		text = fmt.Sprintf("\ndry run of %s: %d would be changed, %d not. Nothing was changed: add --yes to go ahead\n",
			r.Verb, r.Changed, r.NotChanged)
	}
	_, err := io.WriteString(out, text)
	return err
}
