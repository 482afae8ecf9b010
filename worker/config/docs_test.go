package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

// docs/configuration.md is held to the code.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	page := string(text)

	_, example, ok := strings.Cut(page, "```yaml\n")
	require.True(t, ok)
	example, _, ok = strings.Cut(example, "```")
	require.True(t, ok)

	t.Run("its example is a file that can be used, and shows every field", func(t *testing.T) {
		t.Parallel()
		c := requireConfig(t, example)
		require.Equal(t, []string{"ChargePayment", "LoadOrder", "SendReceipt", "*"}, c.Activities())
		o, err := c.Apply(activity.Options{Store: nothing{}, Policies: map[string]activity.Policy{"ChargePayment": {Verify: ask}}})
		require.NoError(t, err)
		require.NoError(t, o.Validate())
		for _, s := range append(c.Defaults(), config.Setting{Field: "off"}) {
			require.Contains(t, example, s.Field+":")
		}
	})

	t.Run("its fields are those that there are, with their defaults, in their order", func(t *testing.T) {
		t.Parallel()
		settings := requireConfig(t, "activities: {A: {}}").Explain()[0].Settings
		var documented [][]string
		_, table, ok := strings.Cut(page, "| field | meaning | values | default |\n|---|---|---|---|\n")
		require.True(t, ok)
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") {
				break
			}
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			require.Len(t, cells, 4, line)
			documented = append(documented, []string{strings.Trim(cells[0], " `"), strings.Trim(cells[3], " `")})
		}
		require.Len(t, documented, len(settings))
		for i, s := range settings {
			require.Equal(t, []string{s.Field, s.Value}, documented[i])
			require.Equal(t, config.BuiltIn, s.Source)
		}
	})

	t.Run("what it shows of the example is what there is to see", func(t *testing.T) {
		t.Parallel()
		all := requireConfig(t, example).Explain("ChargePayment")[0]
		for _, s := range all.Settings[:3] {
			found := false
			for line := range strings.Lines(page) {
				found = found || strings.Join(strings.Fields(line), " ") == strings.Join([]string{all.Activity, s.Field, s.Value, s.Source}, " ")
			}
			require.True(t, found, "%v", s)
		}
	})
}
