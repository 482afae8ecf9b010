package report

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2, median([]float64{1, 2, 9}), 0)
	require.InDelta(t, 3, median([]float64{1, 2, 4, 9}), 0)
	require.True(t, math.IsNaN(median(nil)))
}

func TestInterval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		n          int
		low, high  float64
		confidence float64
	}{
		"nine values leave out one on each side":     {9, 2, 8, 0.961},
		"six values are the first that are enough":   {6, 1, 6, 0.969},
		"twenty values leave out five on each side":  {20, 6, 15, 0.959},
		"three values are as sure as they can be":    {3, 1, 3, 0.75},
		"one value says nothing about the true one":  {1, 1, 1, 0},
		"twelve values leave out two on each side":   {12, 3, 10, 0.961},
		"five values stay below nineteen in twenty":  {5, 1, 5, 0.9375},
		"eight values do not quite spare the second": {8, 1, 8, 0.992},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := make([]float64, test.n)
			for i := range values {
				values[i] = float64(i + 1)
			}
			low, high, confidence := interval(values)
			require.Equal(t, []float64{test.low, test.high}, []float64{low, high})
			require.InDelta(t, test.confidence, confidence, 0.001)
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	values := make([]int, 200)
	for i := range values {
		values[i] = i + 1
	}
	require.Equal(t, 198, Percentile(values, 0.99))
	require.Equal(t, 200, Percentile(values, 1))
	require.Equal(t, 1, Percentile(values, 0))
	require.Zero(t, Percentile([]int(nil), 0.99))
}

func TestRatiosAreFormedWithinARound(t *testing.T) {
	t.Parallel()
	of := map[int]float64{0: 10, 1: 30, 2: 99}
	to := map[int]float64{0: 5, 1: 10, 3: 1}
	require.Equal(t, []float64{2, 3}, ratios(of, to))
	require.Equal(t, map[int]float64{0: 10, 1: 30, 2: 99, 3: 1}, best(of, to))
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{
		"0.95": 0.95, "4": 4, "10": 10.02, "31.4": 31.42, "100": 99.99999999 + 0.1, "1,234": 1234.4, "12,345,678": 12345678, "-1,000": -1000,
	} {
		require.Equal(t, want, Number(v))
	}
	require.Equal(t, "10 million", Count(10_000_000))
	require.Equal(t, "10,000", Count(10_000))
}

// measured has two rounds of everything, and the library is so many times as fast.
func measured(factor float64) *Results {
	r := &Results{Machine: map[string]string{"cores": "2"}, Settings: map[string]string{"fsync": "on"}, Commit: "abc"}
	for round := range 2 {
		pace := float64(round + 1) // rounds differ, ratios do not
		for _, callers := range []int{1, 64, 256} {
			for _, what := range []string{Cycles, Replays} {
				r.Add(Point{What: what, By: PgBench, Callers: callers}, round, 1000*pace)
				r.Add(Point{What: what, By: Grouped, Callers: callers}, round, 1000*pace*factor)
			}
			r.Add(Point{What: Cycles, By: DBOS, Callers: callers}, round, 1000*pace)
		}
		for rows, rate := range map[int]float64{10_000: 1000, 1_000_000: 900} {
			r.Add(Point{What: SizedCycles, By: Grouped, Callers: 64, Rows: rows}, round, rate*pace)
		}
		r.Add(Point{What: Interceptor, By: Grouped}, round, 9000)
	}
	r.Derive()
	return r
}

func states(r *Results) map[string]string {
	found := map[string]string{}
	for _, v := range r.Targets {
		found[v.Name] = v.State
	}
	return found
}

func TestTargets(t *testing.T) {
	t.Parallel()
	t.Run("a figure on its bound is good enough, one below is not", func(t *testing.T) {
		t.Parallel()
		const name = "cycles, this library / pgbench, 64 callers"
		require.Equal(t, OK, states(measured(4))[name])
		require.Equal(t, Missed, states(measured(3.99))[name])
	})
	t.Run("pgbench's best rate may be at another number of clients", func(t *testing.T) {
		t.Parallel()
		r := measured(6)
		require.Equal(t, OK, states(r)["cycles, this library with 256 callers / pgbench at its best"])
		r.Add(Point{What: Cycles, By: PgBench, Callers: 32}, 0, 2000)
		r.Add(Point{What: Cycles, By: PgBench, Callers: 32}, 1, 4000)
		r.Derive()
		require.Equal(t, Missed, states(r)["cycles, this library with 256 callers / pgbench at its best"])
	})
	t.Run("less is better where the target says so", func(t *testing.T) {
		t.Parallel()
		v := Target{AtMost: true, Want: 8, Values: []float64{9}}.evaluate()
		require.Equal(t, Missed, v.State)
		require.InDelta(t, 0.125, v.By(), 1e-9)
		require.Equal(t, OK, Target{AtMost: true, Want: 8, Values: []float64{8}}.evaluate().State)
	})
	t.Run("what was not measured is neither reached nor missed", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, NotMeasured, states(measured(1))["eviction, one evictor alone"])
	})
	t.Run("tables are named by their sizes", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, OK, states(measured(1))["cycles at 1 million rows / at 10,000 rows, 64 callers"])
	})
	t.Run("a line has the name, the figure, the target and the state", func(t *testing.T) {
		t.Parallel()
		line := Target{Name: "x / y", Want: 4, Values: []float64{3, 5, 8}}.evaluate().Line()
		require.Equal(t, []string{"x", "/", "y", "5", "≥", "4", "ok"}, strings.Fields(line))
	})
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.json")
	r := measured(4)
	require.NoError(t, r.Write(path))
	again, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, r, again)
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	text := Markdown(measured(3), Charts)
	require.Contains(t, text, "| callers | this library, cycles/s |")
	require.Contains(t, text, "| 64 | 4,500 (3,000 to 6,000) | - | 1,500 (1,000 to 2,000) | 1,500 (1,000 to 2,000) |")
	require.Contains(t, text, "- Missed by 25 %: cycles, this library / pgbench, 64 callers.")
	require.Contains(t, text, "](performance-cycles.svg)")
	require.NotContains(t, text, "NaN")
}

func TestRegion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+begin+"\nold\n"+end+"\nafter\n"), 0o600))
	for range 2 { // writing it again changes nothing
		require.NoError(t, WriteRegion(path, "new\n"))
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "before\n"+begin+"\n\nnew\n\n"+end+"\nafter\n", string(page))
	}
	_, err := replaceRegion("a page without a place", "new")
	require.ErrorContains(t, err, "between which the figures go")
}

func TestThePageHasARegion(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/performance.md")
	require.NoError(t, err)
	_, err = replaceRegion(string(page), "figures")
	require.NoError(t, err)
}

func TestDraw(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	drawn, err := Draw(measured(3), dir)
	require.NoError(t, err)
	require.Equal(t, Charts, drawn)
	svg, err := os.ReadFile(filepath.Join(dir, "performance-cycles.svg"))
	require.NoError(t, err)
	for _, want := range []string{"cycles/s", "callers at once", "this library", ">4,500<", ">256<"} {
		require.Contains(t, string(svg), want)
	}
	drawn, err = Draw(&Results{}, dir)
	require.NoError(t, err)
	require.Empty(t, drawn)
}
