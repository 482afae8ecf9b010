package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// FuzzDecode holds that no payload makes Decode panic, and that whatever it
// accepts is accepted again, unchanged, after it was encoded.
func FuzzDecode(f *testing.F) {
	f.Add("json/plain", wire.Encode(charge()).GetData())
	f.Add("json/plain", wire.Encode(wire.Facts{To: wire.ToContinuation, WorkflowID: "w", RunID: "r", Chain: chain(3)}).GetData())
	f.Add("json/plain", wire.Encode(wire.Facts{
		To: wire.ToChild, WorkflowID: "w", RunID: "r", Lineage: "l", Scope: []string{"w", "0", "Ship", "1"},
	}).GetData())
	f.Add("binary/encrypted", []byte("\x00\x01"))
	f.Add("json/plain", []byte(`{"v":2}`))
	f.Add("json/plain", []byte(`{"v":1e0,"n":"1"}`))
	f.Add("json/plain", []byte(`[[[[`))
	f.Fuzz(func(t *testing.T, encoding string, data []byte) {
		got, err := wire.Decode(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: data})
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
