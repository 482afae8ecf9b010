package canonical_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
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

// option tells none from a zero.
type option struct {
	value int
	some  bool
}

func (o option) MarshalJSON() ([]byte, error) {
	if !o.some {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// dialled encodes itself by its pointer's method.
type dialled struct{ steps int }

func (d *dialled) MarshalText() ([]byte, error) { return []byte(strings.Repeat("+", d.steps)), nil }
func (d *dialled) UnmarshalText(b []byte) error { d.steps = len(b); return nil }

// strictCode has no text while it is not set, and careless does not reckon with that.
type (
	strictCode string
	careless   struct{ code *string }
)

func (c strictCode) MarshalText() ([]byte, error) {
	if c == "" {
		return nil, errors.New("no code")
	}
	return []byte(strings.TrimPrefix(string(c), "-")), nil
}

func (c careless) MarshalJSON() ([]byte, error) { return []byte(*c.code), nil }

func TestAppendOfFieldsThatEncodeThemselves(t *testing.T) {
	t.Parallel()
	type before struct{ ID string }

	t.Run("LeavesOutTheZeroValue", func(t *testing.T) {
		t.Parallel()
		want := requireForm(t, canonical.Lenient, before{"x"})
		for _, arg := range []any{
			struct {
				ID string
				At time.Time
			}{ID: "x"},
			struct {
				ID  string
				Ref uuid.UUID
			}{ID: "x"},
			struct {
				ID  string
				Raw json.RawMessage
			}{ID: "x"},
			struct {
				ID    string
				Count pgtype.Int8
			}{ID: "x"},
			struct {
				ID   string
				More struct{ At time.Time }
			}{ID: "x"},
			&struct {
				ID   string
				Dial dialled
			}{ID: "x"},
		} {
			require.Equal(t, want, requireForm(t, canonical.Lenient, arg), "%T", arg)
			require.NotEqual(t, requireForm(t, canonical.Exact, before{"x"}), requireForm(t, canonical.Exact, arg), "%T", arg)
		}
	})

	t.Run("KeepsAllOthers", func(t *testing.T) {
		t.Parallel()
		for name, values := range map[string][]any{
			"Option": {struct{ V option }{}, struct{ V option }{option{some: true}}, struct{ V option }{option{1, true}}},
			"Number": {struct{ V pgtype.Int8 }{}, struct{ V pgtype.Int8 }{pgtype.Int8{Valid: true}}},
			"Text":   {struct{ V pgtype.Text }{}, struct{ V pgtype.Text }{pgtype.Text{Valid: true}}},
			"Flag":   {struct{ V pgtype.Bool }{}, struct{ V pgtype.Bool }{pgtype.Bool{Valid: true}}},
			"Raw": {
				struct{ V json.RawMessage }{}, struct{ V json.RawMessage }{json.RawMessage("0")}, struct{ V json.RawMessage }{json.RawMessage("false")},
				struct{ V json.RawMessage }{json.RawMessage(`""`)}, struct{ V json.RawMessage }{json.RawMessage("[]")}, struct{ V json.RawMessage }{json.RawMessage("{}")},
			},
			"Pointer": {struct{ V *dialled }{}, struct{ V *dialled }{&dialled{}}, struct{ V *dialled }{&dialled{1}}},
		} {
			forms := map[string]bool{}
			for _, v := range values {
				forms[requireForm(t, canonical.Lenient, v)] = true
			}
			require.Len(t, forms, len(values), name)
		}
	})

	t.Run("KeepsAllWhereTheZeroValueHasNoForm", func(t *testing.T) {
		t.Parallel()
		null := "null"
		for _, arg := range []any{struct{ V strictCode }{"-"}, struct{ V careless }{careless{&null}}} {
			require.NotEqual(t, requireForm(t, canonical.Lenient, struct{}{}), requireForm(t, canonical.Lenient, arg))
		}
		requireProblem(t, canonical.Lenient, struct{ V strictCode }{})
	})
}
