package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// activity identifies a call of a regular activity.
func (r *run) activity(ctx workflow.Context, activityType string, args []any) *wire.Facts {
	f := r.facts(ctx)
	f.To = wire.ToActivity
	f.Number = r.counts.next(subject{kind: regular, name: activityType})
	o := optionsOf(ctx)
	f.Exempt, f.BusinessKey = o.exempt, o.businessKey
	if f.Exempt || f.BusinessKey != "" {
		return &f
	}
	r.name(&f, regular, activityType, o, args)
	return &f
}

// localActivity identifies a call of a local activity. Even within a run their
// order is not stable: if a workflow task fails after a local activity ran, what
// arrived in the meantime comes first when the task is repeated, and another
// call takes the first one's place. Hence they are always counted by arguments, and
// by their function. Under a business key, where calls of all kinds are one, the
// function is compared.
func (r *run) localActivity(ctx workflow.Context, activityType string, args []any) *wire.Facts {
	f := r.facts(ctx)
	f.To = wire.ToActivity
	o := optionsOf(ctx)
	f.Exempt, f.BusinessKey = o.exempt, o.businessKey
	function := functionOf(ctx)
	switch {
	case f.Exempt:
		return &f
	case f.BusinessKey != "":
		f.Function = function
		return &f
	}
	o.byArguments = true
	if function != "" {
		activityType += "\x00" + function
	}
	r.name(&f, local, activityType, o, args)
	// Nobody asked for it to be counted by arguments, so it runs all the same.
	f.Exempt = f.Uncountable != ""
	return &f
}

// child identifies a child workflow for the calls that it will make, or answers
// nil for one that has an ID of its own: its workflow ID identifies it.
func (r *run) child(ctx workflow.Context, childType string, args []any) *wire.Facts {
	parent := r.facts(ctx)
	number := r.counts.next(subject{kind: child, name: childType})
	options := workflow.GetChildWorkflowOptions(ctx)
	if options.WorkflowID != "" {
		return nil
	}
	if namespace := workflow.GetInfo(ctx).Namespace; options.Namespace != "" && options.Namespace != namespace { //nolint:staticcheck // deprecated, but servers that allow it follow it
		// Keys name the child's namespace, where the parent's workflow ID
		// identifies nothing.
		return nil
	}
	f := wire.Facts{To: wire.ToChild, WorkflowID: parent.WorkflowID, RunID: parent.RunID, Number: number}
	if r.name(&f, child, childType, optionsOf(ctx), args); f.Uncountable != "" {
		workflow.GetLogger(ctx).Warn("dedupe: a child workflow cannot be counted by its arguments and stands for itself",
			"ChildType", childType, "Reason", f.Uncountable)
		return nil
	}
	call := f.CallName()
	f.Scope = wire.ChildScope(parent, childType, call)
	f.Input = parent.Input
	if f.Arguments == "" { // which would stand in the scope
		f.Input = wire.ChildInput(parent.Input, input(childType, args))
	}
	f.Lineage = wire.Extend(parent.Lineage, childType, call)
	f.Execution = wire.Extend(parent.Execution, childType, call)
	return &f
}

// name replaces the number in the order of calls where the call's options ask
// for another identity.
func (r *run) name(f *wire.Facts, k kind, typ string, o options, args []any) {
	f.Step = o.step
	if o.byArguments {
		sum, err := digest(typ, args)
		if err != nil {
			f.Number, f.Uncountable = 0, wire.Shorten(err.Summary())
			return
		}
		f.Arguments = sum
	}
	if f.Step != "" || f.Arguments != "" {
		f.Number = r.counts.next(subject{kind: k, name: typ, step: f.Step, arguments: f.Arguments})
	}
}
