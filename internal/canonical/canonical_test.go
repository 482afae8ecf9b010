package canonical_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

type address struct {
	Street string `json:"street"`
	City   string `json:"city,omitempty"`
}

type order struct {
	ID       string            `json:"id"`
	Amount   int64             `json:"amount"`
	Rate     float64           `json:"rate"`
	Express  bool              `json:"express"`
	Placed   time.Time         `json:"placed"`
	Ship     *address          `json:"ship"`
	Lines    []address         `json:"lines"`
	Labels   map[string]string `json:"labels"`
	Note     string            `json:"note"`
	Currency string            `json:"currency"`
}

func someOrder() order {
	return order{
		ID: "order-42", Amount: 12_50, Rate: 0.19, Express: true, Placed: time.Unix(1_700_000_000, 5).UTC(),
		Ship: &address{Street: "Main St", City: "Springfield"}, Lines: []address{{Street: "a"}, {Street: "b"}},
		Labels: map[string]string{"b": "2", "a": "1"}, Note: "<left & right>", Currency: "EUR",
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()

	t.Run("GivesOneFormToEqualArguments", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
			for range 20 {
				one, other := requireForm(t, mode, someOrder()), requireForm(t, mode, someOrder())
				require.Equal(t, one, other)
			}
		}
	})

	t.Run("GivesOneFormToAStructAndItsPointer", func(t *testing.T) {
		t.Parallel()
		o := someOrder()
		require.Equal(t, requireForm(t, canonical.Lenient, o), requireForm(t, canonical.Lenient, &o))
	})

	t.Run("GivesOneFormToJSONAndWhatIsDecodedFromIt", func(t *testing.T) {
		t.Parallel()
		var generic any
		text, err := json.Marshal(someOrder())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &generic))
		require.Equal(t, requireForm(t, canonical.Exact, generic), requireForm(t, canonical.Exact, json.RawMessage(text)))
		require.Equal(t, requireForm(t, canonical.Lenient, generic), requireForm(t, canonical.Lenient, json.RawMessage(text)))
	})

	t.Run("IgnoresAFieldThatWasAddedAndIsStillEmpty", func(t *testing.T) {
		t.Parallel()
		type before struct{ ID string }
		type after struct {
			Extra *address
			ID    string
			Tags  []string
		}
		require.Equal(t, requireForm(t, canonical.Lenient, before{"x"}), requireForm(t, canonical.Lenient, after{ID: "x", Tags: []string{}}))
		require.NotEqual(t, requireForm(t, canonical.Exact, before{"x"}), requireForm(t, canonical.Exact, after{ID: "x"}))
	})

	t.Run("KeepsWhatIsEmptyInAMapOrBehindAPointer", func(t *testing.T) {
		t.Parallel()
		type payout struct {
			Day  string
			Only map[string]struct{}
			Tip  *int
		}
		zero := 0
		forms := map[string]bool{}
		for _, arg := range []any{
			payout{Day: "monday"},
			payout{Day: "monday", Only: map[string]struct{}{"acct-1": {}}},
			payout{Day: "monday", Only: map[string]struct{}{"acct-2": {}}},
			payout{Day: "monday", Tip: &zero},
			map[string]int{"a": 0},
			map[string]int{"b": 0},
			map[string]any{"sku1": false, "sku2": true},
			map[string]any{"sku2": true},
			map[string][]string{"acct-1": {}},
			map[string][]string{"acct-2": {}},
			json.RawMessage(`{"c":0}`),
			json.RawMessage(`{"d":0}`),
		} {
			form := requireForm(t, canonical.Lenient, arg)
			require.False(t, forms[form], form)
			forms[form] = true
		}
	})

	t.Run("NoticesEveryChangeOfAField", func(t *testing.T) {
		t.Parallel()
		original := requireForm(t, canonical.Lenient, someOrder())
		for _, change := range []func(*order){
			func(o *order) { o.ID = "order-43" },
			func(o *order) { o.Amount++ },
			func(o *order) { o.Rate = math.Nextafter(o.Rate, 1) },
			func(o *order) { o.Express = false },
			func(o *order) { o.Placed = o.Placed.Add(1) },
			func(o *order) { o.Ship.City = "Shelbyville" },
			func(o *order) { o.Lines[0], o.Lines[1] = o.Lines[1], o.Lines[0] },
			func(o *order) { o.Labels["a"] = "2" },
			func(o *order) { o.Labels = map[string]string{"a": "2", "b": "1"} },
			func(o *order) { o.Note = "<left & Right>" },
		} {
			o := someOrder()
			change(&o)
			require.NotEqual(t, original, requireForm(t, canonical.Lenient, o))
		}
	})

	t.Run("KeepsAppendingToWhatIsThere", func(t *testing.T) {
		t.Parallel()
		got, err := canonical.Append([]byte("before"), []any{1}, canonical.Exact)
		require.NoError(t, err)
		require.Equal(t, "before"+requireForm(t, canonical.Exact, 1), string(got))
	})
}

func TestAppendFraming(t *testing.T) {
	t.Parallel()
	// Lists of arguments of which no two may have one form.
	lists := [][]any{
		{}, {nil}, {nil, nil}, {""}, {"", ""}, {"a"}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""},
		{[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte{}}, {"null"}, {false}, {0}, {1}, {1, 0}, {10},
		{[]string{"a", "b"}}, {[]any{}}, {[]any{[]any{}}}, {map[string]any{}}, {map[string]int{"a": 1}}, {"1"},
		{[]byte("1")}, {json.RawMessage(`"j1"`)}, {1, "j"}, {math.MaxInt64}, {uint64(math.MaxUint64)},
	}
	for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
		seen := map[string]any{}
		for _, list := range lists {
			form := requireForm(t, mode, list...)
			require.NotContains(t, seen, form, "%#v and %#v", list, seen[form])
			seen[form] = list
		}
	}

	t.Run("WritesNilOfEveryKindAlike", func(t *testing.T) {
		t.Parallel()
		want := requireForm(t, canonical.Exact, nil)
		for _, v := range []any{(*order)(nil), []byte(nil), []string(nil), map[string]int(nil), json.RawMessage(nil)} {
			require.Equal(t, want, requireForm(t, canonical.Exact, v))
		}
	})

	t.Run("NeverGivesTwoListsOneForm", rapid.MakeCheck(func(t *rapid.T) {
		scalar := rapid.OneOf(rapid.StringOf(rapid.SampledFrom([]rune("jb\x00\x01\""))).AsAny(), rapid.IntRange(-2, 12).AsAny(),
			rapid.SliceOfN(rapid.SampledFrom([]byte("jb\x00\x01\"")), 0, 3).AsAny())
		list := rapid.SliceOfN(scalar, 0, 4)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		equal := len(a) == len(b)
		for i := 0; equal && i < len(a); i++ {
			equal = requireScalar(t, a[i]) == requireScalar(t, b[i])
		}
		require.Equal(t, equal, requireForm(t, canonical.Exact, a...) == requireForm(t, canonical.Exact, b...))
	}))
}

// requireScalar makes a comparable value of a scalar argument.
func requireScalar(t require.TestingT, v any) any {
	if b, ok := v.([]byte); ok {
		require.NotNil(t, b)
		return "bytes " + string(b)
	}
	if s, ok := v.(string); ok {
		return "text " + s
	}
	return v
}

func BenchmarkAppend(b *testing.B) {
	o := someOrder()
	dst := make([]byte, 0, 1024)
	for name, mode := range map[string]canonical.Mode{"Lenient": canonical.Lenient, "Exact": canonical.Exact} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			args := []any{o, "customer-7", 3}
			for b.Loop() {
				if _, err := canonical.Append(dst, args, mode); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
