package wire

import (
	"fmt"
	"math"
)

// Bounds of single fields.
const (
	// MaxTextBytes bounds every text field. Workflow IDs and activity types are
	// limited to 1,000 bytes by Temporal's default settings; business keys of a
	// few thousand are legal.
	MaxTextBytes = 8 << 10
	// MaxScopeElements bounds the scope: one workflow ID and 21 generations.
	MaxScopeElements = 64
)

// validate checks what every reader relies on, and names the first field that
// is wrong.
func (f Facts) validate() error {
	switch {
	case f.Version != Version:
		return invalid("v", "is %d, expected %d", f.Version, Version)
	case f.To != ToActivity && f.To != ToContinuation && f.To != ToChild:
		return invalid("to", "is %s, expected activity, continuation or child", quote(f.To))
	case f.WorkflowID == "":
		return invalid("workflow_id", "is missing")
	case f.RunID == "":
		return invalid("run_id", "is missing")
	case f.Chain != nil && (*f.Chain < 0 || *f.Chain > math.MaxInt32):
		return invalid("chain", "is %d", *f.Chain)
	case f.Number < 0 || f.Number > math.MaxInt32:
		return invalid("n", "is %d", f.Number)
	case f.To == ToActivity && f.Number == 0 && !f.unnumbered():
		return invalid("n", "is missing")
	case f.Lineage == "" && (f.To != ToContinuation || len(f.Scope) > 0):
		return invalid("lineage", "is missing")
	case f.To == ToChild && len(f.Scope) == 0:
		return invalid("scope", "is missing")
	case len(f.Scope) > MaxScopeElements:
		return invalid("scope", "has %d elements, more than %d", len(f.Scope), MaxScopeElements)
	}
	for _, text := range []struct{ field, value string }{
		{"workflow_id", f.WorkflowID}, {"run_id", f.RunID}, {"input", f.Input},
		{"lineage", f.Lineage}, {"original_run_id", f.OriginalRunID}, {"execution", f.Execution},
		{"step", f.Step}, {"business_key", f.BusinessKey}, {"function", f.Function},
		{"arguments", f.Arguments}, {"uncountable", f.Uncountable},
	} {
		if len(text.value) > MaxTextBytes {
			return invalid(text.field, "has %d bytes, more than %d", len(text.value), MaxTextBytes)
		}
	}
	for i, element := range f.Scope {
		if element == "" || len(element) > MaxTextBytes {
			return invalid("scope", "element %d has %d bytes, expected 1 to %d", i, len(element), MaxTextBytes)
		}
	}
	return nil
}

// unnumbered tells whether the call is identified without a number.
func (f Facts) unnumbered() bool {
	return f.Exempt || f.BusinessKey != "" || f.Uncountable != ""
}

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s %s", ErrMalformed, field, fmt.Sprintf(format, args...))
}
