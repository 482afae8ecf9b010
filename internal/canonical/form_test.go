package canonical_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// Digests of forms stand in records and in keys, which outlive workers: a form changes
// with a new version of the digests only.
func TestFormsStay(t *testing.T) {
	t.Parallel()
	type line struct {
		ID   string   `json:"id"`
		Tags []string `json:"tags"`
		Note *string  `json:"note"`
	}
	args := []any{nil, line{ID: "a\n"}, []byte{0, 1}, wrapperspb.String("x"), 1.5e3, canonical.Own("own"), map[string]any{"b": nil, "a": []int{}}}
	const rest = "b\x02\x00\x01p\x1bgoogle.protobuf.StringValue\x03\n\x01xj15e2o\x03ownj{\"a\":[],\"b\":null}"
	for mode, want := range map[canonical.Mode]string{
		canonical.Lenient: "\anj{\"id\":\"a\\u000a\"}" + rest,
		canonical.Exact:   "\anj{\"id\":\"a\\u000a\",\"note\":null,\"tags\":null}" + rest,
	} {
		require.Equal(t, want, requireForm(t, mode, args...), "mode %d", mode)
	}
}
