package dedupe_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/telemetry"
)

// TestTelemetryPage holds docs/telemetry.md to what is declared.
func TestTelemetryPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/telemetry.md")
	require.NoError(t, err)
	page := string(text)
	section := func(title string) string {
		_, after, found := strings.Cut(page, "\n## "+title+"\n")
		require.True(t, found, title)
		body, _, _ := strings.Cut(after, "\n## ")
		return body
	}
	rows := func(title string) int { return len(regexp.MustCompile("(?m)^\\| `").FindAllString(section(title), -1)) }

	t.Run("lists every metric as it is declared, and no other", func(t *testing.T) {
		t.Parallel()
		for _, m := range dedupe.Metrics() {
			attributes := "none"
			if len(m.Attributes) > 0 {
				attributes = "`" + strings.Join(m.Attributes, "`, `") + "`"
			}
			row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |", m.Name, m.Kind, m.Unit, m.Description, attributes)
			require.Contains(t, section("Metrics"), row)
		}
		require.Equal(t, len(dedupe.Metrics()), rows("Metrics"))
	})

	t.Run("lists every outcome, with its status on the span", func(t *testing.T) {
		t.Parallel()
		for title, outcomes := range map[string][]telemetry.Meaning{
			"Outcomes": telemetry.Outcomes, "Completions from outside": telemetry.Completions,
		} {
			for _, o := range outcomes {
				status := ""
				if o.Wrong {
					status = "error"
				}
				require.Contains(t, section(title), fmt.Sprintf("| `%s` | %s | %s |", o.Outcome, o.Text, status))
			}
			require.Equal(t, len(outcomes), rows(title))
		}
	})

	t.Run("lists every source", func(t *testing.T) {
		t.Parallel()
		for _, s := range telemetry.Sources {
			require.Contains(t, section("Sources"), fmt.Sprintf("| `%s` | %s |", s.Source, s.Text))
		}
		require.Equal(t, len(telemetry.Sources), rows("Sources"))
	})

	t.Run("names every span, event and attribute of theirs", func(t *testing.T) {
		t.Parallel()
		spans := section("Spans")
		for _, name := range slices.Concat(telemetry.Spans, telemetry.Events) {
			require.Contains(t, spans, "`"+name+"`")
		}
		for _, a := range telemetry.SpanAttributes {
			require.Contains(t, spans, "`"+string(a)+"`")
		}
	})

	t.Run("names every alert of the example", func(t *testing.T) {
		t.Parallel()
		alerts, err := os.ReadFile("examples/observability/alerts.yaml")
		require.NoError(t, err)
		names := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			require.Contains(t, section("Alerts"), "`"+name[1]+"`")
		}
		require.Equal(t, len(names), rows("Alerts"))
	})
}
