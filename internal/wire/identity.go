package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Position tells the runs of one workflow ID apart, where resets, workflow
// retries and fresh starts are to meet the same records: the count of
// continuations in decimal digits, or "run:" and the execution where that count
// is not known or the run belongs to a cron schedule.
func (f Facts) Position() string {
	if f.Chain != nil && !f.Cron {
		return strconv.Itoa(*f.Chain)
	}
	return "run:" + f.ExecutionID()
}

// ExecutionID names the one execution that the writer belongs to, equal over
// resets. The test environment knows no original run; there it is the run.
func (f Facts) ExecutionID() string {
	switch {
	case f.Execution != "":
		return f.Execution
	case f.OriginalRunID != "":
		return f.OriginalRunID
	default:
		return f.RunID
	}
}

// CallName tells the calls of one type within a run apart: "3" for the third
// call, "args:2:<digest>" for the second with these arguments, "step:1:deposit"
// for the first of this step, "step-args:1:<digest>:deposit" for both. The name
// of a step comes last, so that no name can be taken for another part.
func (f Facts) CallName() string {
	n := strconv.Itoa(f.Number)
	switch {
	case f.Step != "" && f.Arguments != "":
		return "step-args:" + n + ":" + f.Arguments + ":" + f.Step
	case f.Step != "":
		return "step:" + n + ":" + f.Step
	case f.Arguments != "":
		return "args:" + n + ":" + f.Arguments
	default:
		return n
	}
}

// Bounds that keep the identity of a deeply nested child from growing with the
// depth; beyond them a digest stands in place of the text.
const (
	maxScopeText  = 1 << 10
	maxScopeDepth = 1 + 3*8
	maxExtended   = 1 << 10
)

// ChildScope is the scope of a child without an ID of its own. The parent is
// described by the facts of its run, the child by its type and CallName.
func ChildScope(parent Facts, childType, callName string) []string {
	base := parent.Scope
	if len(base) == 0 {
		base = []string{parent.WorkflowID}
	}
	scope := append(append(make([]string, 0, len(base)+3), base...), parent.Position(), childType, callName)
	size := 0
	for _, element := range scope[1:] {
		size += len(element)
	}
	if len(scope) <= maxScopeDepth && size <= maxScopeText {
		return scope
	}
	// A digest has no length in common with a plain scope: 1+3g elements
	// against 2+3g.
	return []string{scope[0], digest(escape(scope))}
}

// Extend makes the identity of a child of its parent's, which stays as it is,
// and of parts that no two children share. Different parts never give the same
// text. A long text becomes a digest.
func Extend(parent string, parts ...string) string {
	text := parent + "/" + escape(parts)
	if len(text) > maxExtended {
		return digest(text)
	}
	return text
}

// ChildInput is the Input of a child: its own within that of its parent.
func ChildInput(parent, own string) string {
	switch {
	case own == "":
		return parent
	case parent == "":
		return own
	default:
		return digest(parent + "/" + own)
	}
}

var escaper = strings.NewReplacer("%", "%25", "/", "%2F")

func escape(parts []string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('/')
		}
		_, _ = escaper.WriteString(&b, part)
	}
	return b.String()
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
