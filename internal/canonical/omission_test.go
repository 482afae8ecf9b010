package canonical_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

type traced struct {
	ID    string `json:"id"`
	Trace string `json:"trace,omitempty" dedupe:"-"`
}

type envelope struct {
	One     traced            `json:"one"`
	Pointer *traced           `json:"pointer"`
	List    []traced          `json:"list"`
	Nested  [][1]*traced      `json:"nested"`
	ByName  map[string]traced `json:"by_name"`
	Whole   traced            `json:"whole" dedupe:"-"`
	Inner   []*envelope       `json:"inner"`
	Trace   string            `json:"trace"`
	traced
	marks `dedupe:"-"`
}

type marks struct {
	Span   string
	Parent string `json:"parent"`
}

func full(trace string) *envelope {
	t := traced{ID: "1", Trace: trace}
	return &envelope{
		One: t, Pointer: &t, List: []traced{t, t}, Nested: [][1]*traced{{&t}}, ByName: map[string]traced{"id": t, "trace": t},
		Whole: t, traced: traced{ID: "2"}, marks: marks{Span: trace, Parent: trace}, Trace: "visible",
	}
}

func TestAppendLeavesOutTaggedFields(t *testing.T) {
	t.Parallel()

	t.Run("WhereverTheyStand", func(t *testing.T) {
		t.Parallel()
		a, b := full("a"), full("b")
		a.Inner, b.Inner = []*envelope{full("c")}, []*envelope{full("d")}
		require.Equal(t, requireForm(t, canonical.Lenient, a), requireForm(t, canonical.Lenient, b))
		require.Equal(t, requireForm(t, canonical.Lenient, []*envelope{a}), requireForm(t, canonical.Lenient, []*envelope{b}))
		require.Equal(t, requireForm(t, canonical.Lenient, map[string]*envelope{"k": a}), requireForm(t, canonical.Lenient, map[string]*envelope{"k": b}))
	})

	t.Run("ButNoOthers", func(t *testing.T) {
		t.Parallel()
		original := requireForm(t, canonical.Lenient, full("a"))
		for _, change := range []func(*envelope){
			func(e *envelope) { e.One.ID = "x" },
			func(e *envelope) { e.Pointer.ID = "x" },
			func(e *envelope) { e.List[1].ID = "x" },
			func(e *envelope) { e.Nested[0][0] = &traced{ID: "x"} },
			func(e *envelope) { e.ByName["trace"] = traced{ID: "x"} },
			func(e *envelope) { delete(e.ByName, "trace") },
			func(e *envelope) { e.Trace = "x" },
			func(e *envelope) { e.ID = "x" },
			func(e *envelope) { e.Inner = []*envelope{full("a")} },
		} {
			changed := full("a")
			change(changed)
			require.NotEqual(t, original, requireForm(t, canonical.Lenient, changed))
		}
	})

	t.Run("AsIfTheyWereNotThere", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, requireForm(t, canonical.Lenient, map[string]string{"id": "1"}), requireForm(t, canonical.Lenient, traced{ID: "1", Trace: "a"}))
	})

	t.Run("NotFromAnExactForm", func(t *testing.T) {
		t.Parallel()
		require.NotEqual(t, requireForm(t, canonical.Exact, traced{Trace: "a"}), requireForm(t, canonical.Exact, traced{Trace: "b"}))
	})

	t.Run("InATypeThatReachesItselfThroughASlice", func(t *testing.T) {
		t.Parallel()
		a, b := loops{{Trace: "a", Sub: loops{{Trace: "b", Name: "n"}}}}, loops{{Trace: "c", Sub: loops{{Trace: "d", Name: "n"}}}}
		require.Equal(t, requireForm(t, canonical.Lenient, a), requireForm(t, canonical.Lenient, b))
		b[0].Sub[0].Name = "m"
		require.NotEqual(t, requireForm(t, canonical.Lenient, a), requireForm(t, canonical.Lenient, b))
	})
}

type loops []struct {
	Sub   loops
	Name  string
	Trace string `dedupe:"-"`
	Own   slices
}
