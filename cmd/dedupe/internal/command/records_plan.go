package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// plan is what a dry run has found.
type plan struct {
	// marks are those of the records to change, by key.
	marks map[string]string
	// left are the records that the dry run would not have changed.
	left []reported
}

// readPlan reads a dry run's report. A plan is for one change only: what its reader
// has looked at was another question otherwise.
func (f *changeFlags) readPlan(env Env, c store.Change) (plan, error) {
	p := plan{marks: map[string]string{}}
	if f.plan == "" {
		return p, nil
	}
	text, err := readInput(env, f.plan)
	if err != nil {
		return p, err
	}
	var dry report
	if err := json.Unmarshal(text, &dry); err != nil {
		return p, usagef("dedupe: --plan %s: %w", f.plan, err)
	}
	if dry.Verb != c.Named() || !dry.DryRun {
		return p, usagef("dedupe: --plan %s is no dry run of %q", f.plan, c.Named())
	}
	for _, r := range dry.Records {
		switch {
		case r.Result != resultWould:
			p.left = append(p.left, r.leftOut())
		case r.Mark == "":
			return p, usagef("dedupe: --plan %s: the record %q has no mark, so that nobody knows what was looked at", f.plan, r.Key)
		default:
			p.marks[r.Key] = r.Mark
		}
	}
	switch dry.Digest {
	case digest(c):
		return p, nil
	case "":
		return p, usagef("dedupe: --plan %s has no digest of the change, so that nobody knows what was looked at", f.plan)
	}
	return p, usagef("dedupe: --plan %s is a dry run of %q with another %s; nothing was changed: give what the plan was made with, or make a new one",
		f.plan, c.Named(), beyondName(c.Verb))
}

// leftOut is the row of a record that a dry run would not have changed: it is in the
// plan, and its reader may count on it, but no mark of it is meant to be changed.
func (r reported) leftOut() reported {
	if r.Result == resultSkipped || r.Result == resultNot {
		return r
	}
	r.Result, r.Why = resultNot, fmt.Sprintf("the plan has it as %s: %s", r.Result, r.Why)
	return r
}

// beyondName is what a verb does that its name does not tell.
func beyondName(v store.Verb) string {
	switch v {
	case store.VerbComplete:
		return "result or --keep"
	case store.VerbFail:
		return "--message, --type or --keep"
	default:
		return "--keep"
	}
}

// digest tells what a change does to every record that it is made of: its verb with its
// options, and what it leaves behind. It stands in a plan, in 16 hex digits.
func digest(c store.Change) string {
	text := fmt.Sprintf("%q %v %t %q %q", c.Named(), c.Keep, c.Result == nil, c.Result, c.Failure)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// readInput reads a file that a flag names.
func readInput(env Env, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(env.In)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("dedupe: %w", err)
	}
	return text, nil
}
