package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// FuzzDecode holds that no payload makes Decode panic, that whatever it accepts is
// accepted again, unchanged, after it was encoded, and that white space, which the
// short way of reading does not take, makes no difference.
func FuzzDecode(f *testing.F) {
	f.Add("json/plain", wire.Encode(charge()).GetData())
	f.Add("json/plain", wire.Encode(wire.Facts{To: wire.ToContinuation, WorkflowID: "w", RunID: "r", Chain: chain(3)}).GetData())
	f.Add("json/plain", wire.Encode(wire.Facts{
		To: wire.ToChild, WorkflowID: "w", RunID: "r", Lineage: "l", Scope: []string{"w", "0", "Ship", "1"},
	}).GetData())
	f.Add("json/plain", wire.Encode(wire.Facts{
		To: wire.ToActivity, WorkflowID: "w", RunID: "r", Lineage: "l", OriginalRunID: "o", Execution: "e", Chain: chain(0), Cron: true,
		Number: 10, Step: "s", BusinessKey: "b", Function: "f", Arguments: "a", Uncountable: "u", Exempt: true,
	}).GetData())
	f.Add("binary/encrypted", []byte("\x00\x01"))
	f.Add("json/plain", []byte(`{"v":2}`))
	f.Add("json/plain", []byte(`{"v":1e0,"n":"1"}`))
	f.Add("json/plain", []byte(`[[[[`))
	f.Add("json/plain", []byte(`}`))
	f.Add("json/plain", []byte(`{"v":1,"to":"activity","workflow_id":"w","run_id":"r","lineage":"l","chain":01,"n":1000000000}`))
	f.Fuzz(func(t *testing.T, encoding string, data []byte) {
		payload := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: data}
		got, err := wire.Decode(payload)
		if len(data) < wire.MaxBytes {
			payload.Data = append([]byte{' '}, data...)
			spaced, spacedErr := wire.Decode(payload)
			require.Equal(t, got, spaced)
			require.Equal(t, text(err), text(spacedErr))
		}
		if err != nil {
			require.Zero(t, got)
			return
		}
		again, err := wire.Decode(wire.Encode(got))
		if len(wire.Encode(got).GetData()) > wire.MaxBytes {
			return // escapes made it longer than what was read
		}
		require.NoError(t, err)
		if len(got.Scope) == 0 {
			got.Scope = nil // an empty list is not written
		}
		require.Equal(t, got, again)
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
