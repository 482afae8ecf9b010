package wire_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// TestHeaderPage holds docs/header.md to the code.
func TestHeaderPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/header.md")
	require.NoError(t, err)
	page := string(text)

	t.Run("ShowsHeadersThatCanBeRead", func(t *testing.T) {
		t.Parallel()
		blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(page, -1)
		require.GreaterOrEqual(t, len(blocks), 7)
		kinds := map[string]bool{}
		for _, block := range blocks {
			f, err := wire.Decode(plain(block[1]))
			require.NoError(t, err, block[1])
			require.JSONEq(t, block[1], string(wire.Encode(f).GetData()), "a field of the page is not a field of the code")
			kinds[f.To] = true
			if f.To == wire.ToChild {
				require.Equal(t, f.Scope, wire.ChildScope(wire.Facts{WorkflowID: f.WorkflowID, Chain: chain(0)}, "Ship", f.CallName()))
				require.Equal(t, f.Lineage, wire.Extend(f.RunID, "Ship", f.CallName()))
			}
		}
		require.Len(t, kinds, 3)
	})

	t.Run("ListsEveryField", func(t *testing.T) {
		t.Parallel()
		full := wire.Facts{
			To: "x", WorkflowID: "x", RunID: "x", Scope: []string{"x"}, Input: "x", Lineage: "x", OriginalRunID: "x", Execution: "x", Chain: chain(1),
			Cron: true, Number: 1, Step: "x", BusinessKey: "x", Function: "x", Arguments: "x", Uncountable: "x", Exempt: true,
		}
		var fields map[string]any
		require.NoError(t, json.Unmarshal(wire.Encode(full).GetData(), &fields))
		require.Len(t, fields, 18)
		table := page[strings.Index(page, "## Fields"):strings.Index(page, "A reader ignores")]
		for name := range fields {
			require.Contains(t, table, "`"+name+"`")
		}
	})
}
