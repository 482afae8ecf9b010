package activity

import (
	"regexp"
	"strings"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// KeyRanges are where the records of a workflow's calls stand in the order of
// keys.
type KeyRanges struct {
	// Workflow holds the keys that name the workflow ID: all of them are its own.
	Workflow []store.KeyRange
	// Others holds the keys that do not name it, of all workflows: business keys,
	// and the calls of children without an ID of their own, which stand in their
	// parents' scopes. Ask there for the record's own workflow ID.
	Others []store.KeyRange
}

// FindKeys tells where to look for the records of a workflow's calls, and of the effects
// of [Do] inside them, under Options.KeyPrefix of the workers that made them. The activity type narrows
// Others down to business keys of that type, and may be empty: all types. It
// depends on nothing but its arguments; docs/keys.md has the grammar.
func FindKeys(prefix, namespace, workflowID, activityType string) KeyRanges {
	var r KeyRanges
	parts := []string{namespace}
	if activityType != "" {
		parts = append(parts, activityType)
	}
	for _, effect := range []string{"", effectMark} {
		for _, local := range []string{"", localMark} {
			for _, kind := range []string{kindWorkflowID, kindExecution, kindRun, kindInvocation} {
				r.Workflow = append(r.Workflow, keysUnder(prefix, kind+local+effect, namespace, workflowID)...)
			}
			for _, kind := range []string{kindWorkflowID, kindExecution} {
				r.Others = append(r.Others, keysUnder(prefix, kind+childMark+local+effect, namespace)...)
			}
		}
		r.Others = append(r.Others, keysUnder(prefix, kindBusiness+effect, parts...)...)
	}
	return r
}

// kindOfKey splits a key into its kind, the mark of an effect, and the parts.
var kindOfKey = regexp.MustCompile(`^((?:[^:/]*:)?(?:[we]c?l?|[ri]l?|[bs]))(d?)/(.+)$`)

// IsEffectKey tells whether a record's key is that of an effect of [Do].
func IsEffectKey(key string) bool {
	split := kindOfKey.FindStringSubmatch(key)
	return split != nil && split[2] != ""
}

// EffectKeys tells where the records of the effects of [Do] stand that an activity
// makes, by the key of the activity's record. There are none inside the record of an
// effect: effects within effects stand beside each other.
func EffectKeys(key string) []store.KeyRange {
	split := kindOfKey.FindStringSubmatch(key)
	if split == nil || split[2] != "" {
		return nil
	}
	starts := []string{split[1] + effectMark + "/"}
	for _, escaped := range strings.Split(split[3], "/") {
		// An effect's key is longer, so that more parts may stand as their digests in it.
		starts = continued(starts, escaped, digestEscaped(escaped))
	}
	return rangesFrom(starts)
}

// PrefixedKeys is the range of the keys that workers with this Options.KeyPrefix make;
// of all keys if it is empty.
func PrefixedKeys(prefix string) store.KeyRange {
	if prefix == "" {
		return store.AllKeys()
	}
	return store.KeysWithPrefix(joinKey(prefix, ""))
}

// keysUnder are the ranges of the keys that begin with a kind and these parts. A
// part stands in a key as it is or, if that is longer, as its digest: which of
// them depends on the parts that follow, so both are looked for.
func keysUnder(prefix, kind string, parts ...string) []store.KeyRange {
	starts := []string{joinKey(prefix, kind) + "/"}
	for _, part := range parts {
		starts = continued(starts, escapePart(part), digestPart(part))
	}
	return rangesFrom(starts)
}

// continued adds a part to beginnings of keys, in either form that it may have.
func continued(starts []string, escaped, digest string) []string {
	var longer []string
	for _, start := range starts {
		longer = append(longer, start+escaped+"/")
		if len(escaped) > len(digest) {
			longer = append(longer, start+digest+"/")
		}
	}
	return longer
}

func rangesFrom(starts []string) []store.KeyRange {
	var ranges []store.KeyRange
	for _, start := range starts {
		if len(start) < store.MaxKeyBytes {
			ranges = append(ranges, store.KeysWithPrefix(start))
		}
	}
	return ranges
}
