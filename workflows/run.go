package workflows

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// run is what an instance knows about itself, and its counters. The SDK runs the
// coroutines of an instance one at a time, so nothing here is locked.
type run struct {
	opened bool
	known  wire.Facts // what all calls of the run have in common
	counts counter

	// headers are those that were written in this workflow task, and those of local
	// activities that have not ended, by their places; the length of the history tells
	// tasks apart, in a replay as well.
	headers map[uintptr]*use
	task    int
	warned  bool // that an interceptor goes on more than once
}

func newRun() *run {
	return &run{counts: counter{}, headers: map[uintptr]*use{}}
}

// facts returns what is common to all calls.
func (r *run) facts(ctx workflow.Context) wire.Facts {
	if r.opened {
		return r.known
	}
	// An interceptor outside of ours makes a call before the workflow code
	// starts. Only what needs no header can be said.
	info := workflow.GetInfo(ctx)
	f := own(info)
	if info.ContinuedExecutionRunID == "" {
		f.Chain = new(int)
	}
	return f
}

// own is what a run knows without a header.
func own(info *workflow.Info) wire.Facts {
	f := wire.Facts{
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		OriginalRunID: info.OriginalRunID, Lineage: info.FirstRunID,
		Cron: info.CronSchedule != "",
	}
	// The SDK's test environment knows neither.
	if f.OriginalRunID == "" {
		f.OriginalRunID = f.RunID
	}
	if f.Lineage == "" {
		f.Lineage = f.RunID
	}
	f.Execution = f.OriginalRunID
	return f
}

// open reads the header that the run was started with. A logger may be nil.
func (r *run) open(info *workflow.Info, payload *commonpb.Payload, logger log.Logger) {
	f := own(info)
	fresh := info.ContinuedExecutionRunID == ""
	given, err := receive(info, payload)
	switch {
	case fresh:
		f.Chain = new(int)
	case given != nil && given.To == wire.ToContinuation:
		f.Chain = given.Chain
	case info.Attempt > 1 && !unreadable(err):
		// A workflow retry carries the header of the run that it repeats. That
		// run had none from a predecessor, so it was the first.
		f.Chain = new(int)
	}
	if given != nil && len(given.Scope) > 0 {
		f.Scope, f.Input, f.Lineage = given.Scope, given.Input, given.Lineage
		if given.To == wire.ToChild && fresh && given.Execution != "" {
			// A later run (retry, cron, continuation) is an execution of its own.
			f.Execution = given.Execution
		}
	}
	r.known, r.opened = f, true

	switch {
	case logger == nil:
	case err != nil:
		logger.Warn("dedupe: the header of this run is ignored", "Reason", err.Error())
	case f.Chain == nil && !f.Cron:
		logger.Warn("dedupe: the previous run was continued by a worker without the interceptor; calls of this run are kept apart from all others by its run ID")
	}
}

// continuation is the header of the run that continues this one.
func (r *run) continuation() wire.Facts {
	f := wire.Facts{To: wire.ToContinuation, WorkflowID: r.known.WorkflowID, RunID: r.known.RunID}
	if r.known.Chain != nil {
		next := *r.known.Chain + 1
		f.Chain = &next
	}
	if len(r.known.Scope) > 0 {
		f.Scope, f.Input, f.Lineage = r.known.Scope, r.known.Input, r.known.Lineage
	}
	return f
}
