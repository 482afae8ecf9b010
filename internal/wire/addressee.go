package wire

import "fmt"

// ForActivity tells whether facts are meant for an activity of this workflow.
// The run ID is not compared: after a reset, an activity that was pending runs
// again with the header that the run before the reset gave it.
func ForActivity(f Facts, workflowID string) error {
	if f.To != ToActivity {
		return misdirected(f, ToActivity)
	}
	return sameWorkflow(f, workflowID)
}

// ForContinuation tells whether facts are meant for a run of this workflow that
// continues the run continuedRunID. A workflow retry (attempt above 1) carries
// the header of the run that it repeats, so there the run ID is not compared.
func ForContinuation(f Facts, workflowID, continuedRunID string, attempt int32) error {
	if f.To != ToContinuation {
		return misdirected(f, ToContinuation)
	}
	if err := sameWorkflow(f, workflowID); err != nil {
		return err
	}
	if attempt <= 1 && f.RunID != continuedRunID {
		return fmt.Errorf("%w: it continues run %s, this run continues %s", ErrNotAddressed, quote(f.RunID), quote(continuedRunID))
	}
	return nil
}

// ForChild tells whether facts are meant for a child of this parent; "" where
// there is none. The run ID is not compared, for the reason given at
// [ForActivity]: a child that was about to start at a reset is started by the
// new run with the old header.
func ForChild(f Facts, parentWorkflowID string) error {
	if f.To != ToChild {
		return misdirected(f, ToChild)
	}
	return sameWorkflow(f, parentWorkflowID)
}

func misdirected(f Facts, reader string) error {
	return fmt.Errorf("%w: it is for an addressee of kind %s, this is of kind %s", ErrNotAddressed, f.To, reader)
}

func sameWorkflow(f Facts, workflowID string) error {
	if f.WorkflowID != workflowID {
		return fmt.Errorf("%w: it belongs to workflow %s, expected %s", ErrNotAddressed, quote(f.WorkflowID), quote(workflowID))
	}
	return nil
}
