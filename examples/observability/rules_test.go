package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe"
)

// series returns the names under which Prometheus keeps a metric.
func series(m dedupe.Metric) []string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	switch m.Kind {
	case "counter":
		return []string{name + "_total"}
	case "histogram":
		return []string{name + "_bucket", name + "_sum", name + "_count"}
	default:
		return []string{name}
	}
}

// declared returns the labels of every series that there can be.
func declared() map[string][]string {
	all := map[string][]string{}
	for _, m := range dedupe.Metrics() {
		for _, name := range series(m) {
			all[name] = append(m.Attributes, "le")
		}
	}
	return all
}

var promql = parser.NewParser(parser.Options{})

// requireDeclared asserts that an expression is one, and that it uses nothing
// but metrics that there are, with labels that they have.
func requireDeclared(t *testing.T, where, expr string) (names []string) {
	t.Helper()
	parsed, err := promql.ParseExpr(expr)
	require.NoError(t, err, "%s: %s", where, expr)
	known := declared()
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			require.Contains(t, known, n.Name, "%s: %s", where, expr)
			names = append(names, n.Name)
			require.True(t, !slices.Contains(known[n.Name], "source") || tellsEffects(parsed), "%s counts effects as activities: %s", where, expr)
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					require.Contains(t, known[n.Name], m.Name, "%s: %s", where, expr)
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				for _, selected := range selectors(n.Expr) {
					require.Contains(t, known[selected], label, "%s: %s", where, expr)
				}
			}
		}
		return nil
	})
	require.NotEmpty(t, names, "%s: %s", where, expr)
	return names
}

// tellsEffects tells whether an expression selects or groups by source: effects within
// activities are counted beside these.
func tellsEffects(e parser.Expr) bool {
	told, all := 0, 0
	parser.Inspect(e, func(node parser.Node, path []parser.Node) error {
		s, ok := node.(*parser.VectorSelector)
		if !ok || !slices.Contains(declared()[s.Name], "source") {
			return nil
		}
		all++
		selected := slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "source" })
		grouped := slices.ContainsFunc(path, func(n parser.Node) bool {
			a, ok := n.(*parser.AggregateExpr)
			return ok && slices.Contains(a.Grouping, "source")
		})
		if selected || grouped {
			told++
		}
		return nil
	})
	return told == all
}

func selectors(e parser.Expr) (names []string) {
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			names = append(names, s.Name)
		}
		return nil
	})
	return names
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	require.Len(t, groups.Groups, 1)
	watched := map[string]bool{}
	for _, rule := range groups.Groups[0].Rules {
		for _, name := range requireDeclared(t, rule.Alert, rule.Expr) {
			watched[name] = true
		}
		require.NotEmpty(t, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["description"], rule.Alert)
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["summary"], -1) {
			require.Contains(t, rule.Expr, label[1], "%s: the expression keeps no such label", rule.Alert)
		}
	}
	for _, must := range []string{
		"dedupe_held", "dedupe_settle_failed_total", "dedupe_stale_write_rejected_total", "dedupe_unprotected_total",
		"dedupe_store_latency_seconds_count", "dedupe_eviction_pass_total", "dedupe_lease_renewal_total",
		"dedupe_completion_total",
	} {
		require.True(t, watched[must], "nobody is told of %s", must)
	}
}

// A call that is refused for good is seen by nobody but its workflow.
func TestEveryRefusalAlerts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	_, outcomes, _ := strings.Cut(string(page), "## Outcomes")
	outcomes, _, _ = strings.Cut(outcomes, "\n## ")
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	i := slices.IndexFunc(groups.Groups[0].Rules, func(r rulefmt.Rule) bool { return r.Alert == "DedupeRefused" })
	expr, err := promql.ParseExpr(groups.Groups[0].Rules[i].Expr)
	require.NoError(t, err)

	refusals := append(regexp.MustCompile("(?m)^\\| `(\\w+)` \\| Refused: ").FindAllStringSubmatch(outcomes, -1),
		[]string{"", "fingerprint_unknown"}, []string{"", "record_version"}, []string{"", "result_too_large"}) // until somebody does something
	require.Greater(t, len(refusals), 8)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			for _, outcome := range refusals {
				selected := slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "outcome" && m.Matches(outcome[1]) })
				// DedupeOutcomesHeld tells of the worklist.
				require.Equal(t, outcome[1] != "outcome_unknown", selected, outcome[1])
			}
		}
		return nil
	})
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Title, UID string
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			ID          int
			Title       string
			Description string
			GridPos     struct{ H, W, X, Y int }
			Targets     []struct{ RefID, Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.UID)
	shown, ids, places := map[string]bool{}, map[int]bool{}, map[[2]int]bool{}
	for _, panel := range dashboard.Panels {
		require.False(t, ids[panel.ID], "two panels have ID %d", panel.ID)
		place := [2]int{panel.GridPos.X, panel.GridPos.Y}
		require.False(t, places[place], "%s stands on another panel", panel.Title)
		ids[panel.ID], places[place] = true, true
		require.NotEmpty(t, panel.Description, panel.Title)
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			for _, name := range requireDeclared(t, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")) {
				shown[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
			}
		}
	}
	for _, m := range dedupe.Metrics() {
		name := strings.TrimSuffix(series(m)[0], "_bucket")
		require.True(t, shown[name], "no panel shows %s", name)
	}
}
