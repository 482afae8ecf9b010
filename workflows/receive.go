package workflows

import (
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// receive reads the header that a run was started with. Nil without an error:
// there is none. The error says why a header is to be ignored.
func receive(info *workflow.Info, payload *commonpb.Payload) (*wire.Facts, error) {
	if payload == nil {
		return nil, nil
	}
	f, err := wire.Decode(payload)
	if err != nil {
		return nil, err
	}
	if f.To == wire.ToChild {
		parent := ""
		if info.ParentWorkflowExecution != nil {
			parent = info.ParentWorkflowExecution.ID
		}
		err = wire.ForChild(f, parent)
	} else {
		err = wire.ForContinuation(f, info.WorkflowExecution.ID, info.ContinuedExecutionRunID, info.Attempt)
	}
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// unreadable tells whether a header is there whose content is not known, as
// against one that was meant for somebody else.
func unreadable(err error) bool {
	return errors.Is(err, wire.ErrMalformed) || errors.Is(err, wire.ErrVersion)
}
