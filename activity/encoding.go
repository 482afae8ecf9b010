package activity

import (
	"context"
	"fmt"
	"reflect"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// encoding turns results and errors into what Temporal would send, with the
// client's own converters, so that a replay is equal to the first answer.
type encoding struct {
	data    converter.DataConverter
	failing converter.FailureConverter
}

// in binds the converters to an activity, as the SDK does: they may encrypt with
// a key of its workflow.
func (c encoding) in(info sdkactivity.Info) encoding {
	about := serializationContext(info)
	return encoding{
		data:    converter.WithDataConverterSerializationContext(c.data, about),
		failing: converter.WithFailureConverterSerializationContext(c.failing, about),
	}
}

func serializationContext(info sdkactivity.Info) converter.SerializationContext {
	// SDKs from 1.51 on answer the caller of a Nexus operation in its own
	// context. Older ones have no such field.
	if f := reflect.ValueOf(info).FieldByName("NexusSerializationContext"); f.IsValid() {
		if nexus, ok := f.Interface().(*converter.NexusSerializationContext); ok && nexus != nil {
			return *nexus
		}
	}
	about := converter.ActivitySerializationContext{
		Namespace:    info.Namespace,
		WorkflowID:   info.WorkflowExecution.ID,
		ActivityType: info.ActivityType.Name,
		TaskQueue:    info.TaskQueue,
		IsLocal:      info.IsLocalActivity,
	}
	if info.WorkflowType != nil {
		about.WorkflowType = info.WorkflowType.Name
	}
	return about
}

// result encodes a result as the SDK would after us, and fails with the very error
// that the SDK would give. nil is no payload at all.
func (c encoding) result(ctx context.Context, info sdkactivity.Info, result any) (*commonpb.Payloads, error) {
	switch r := result.(type) {
	case nil:
		return nil, nil
	case *commonpb.Payloads: // already encoded, by a test environment or another interceptor
		return r, nil
	}
	return c.about(ctx, info).ToPayloads(result)
}

// complete makes the settlement of a result, with a tombstone in the place of one that
// is over the limit, and returns what is sent to Temporal.
func (c encoding) complete(ctx context.Context, info sdkactivity.Info, result any, limit int, s *store.Settlement) (*commonpb.Payloads, error) {
	payloads, err := c.result(ctx, info, result)
	if err != nil {
		return nil, err
	}
	encoded, err := marshalPayloads(payloads)
	if err != nil {
		return nil, err
	}
	s.Outcome, s.ResultSize = store.OutcomeComplete, int64(len(encoded))
	if limit > 0 && len(encoded) > limit {
		s.Tombstone = store.TombstoneResultTooLarge
	} else {
		s.Result = encoded
	}
	return payloads, nil
}

// about is the data converter for results of the activity.
func (c encoding) about(ctx context.Context, info sdkactivity.Info) converter.DataConverter {
	data := c.in(info).data
	if aware, ok := data.(workflow.ContextAware); ok {
		data = aware.WithContext(ctx)
	}
	return data
}

// decode reads what result has encoded. Without a payload the value stays as it is.
func (c encoding) decode(ctx context.Context, info sdkactivity.Info, result any, into any) error {
	payloads, _ := result.(*commonpb.Payloads)
	if payloads == nil {
		return nil
	}
	return c.about(ctx, info).FromPayloads(payloads, into)
}

// marshalPayloads keeps nil and empty apart: a result without payload is nil,
// everything else is not.
func marshalPayloads(p *commonpb.Payloads) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	b, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("dedupe: the result cannot be encoded: %w", err)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

func unmarshalPayloads(b []byte) (*commonpb.Payloads, error) {
	if b == nil {
		return nil, nil
	}
	var p commonpb.Payloads
	if err := proto.Unmarshal(b, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

func marshalFailure(f *failurepb.Failure) ([]byte, error) { return proto.Marshal(f) }

func unmarshalFailure(b []byte) (*failurepb.Failure, error) {
	var f failurepb.Failure
	if err := proto.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	if f.GetFailureInfo() == nil {
		return nil, fmt.Errorf("it is empty")
	}
	return &f, nil
}
