package canonical_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

type opaque struct{ secret int }

type blankOnly struct {
	_ [0]func()
}

// selfMade knows how to encode itself.
type selfMade struct{ secret int }

func (s selfMade) MarshalJSON() ([]byte, error)  { return json.Marshal(s.secret) }
func (s *selfMade) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.secret) }

// byPointer does so only where it can be addressed.
type byPointer struct{ secret int }

func (s *byPointer) MarshalJSON() ([]byte, error) { return json.Marshal(s.secret) }
func (s *byPointer) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.secret) }

type panics struct{ X int }

func (panics) MarshalJSON() ([]byte, error) { panic("card 4111") }
func (*panics) UnmarshalJSON([]byte) error  { return nil }

type fails struct{ X int }

func (fails) MarshalJSON() ([]byte, error) { return nil, errors.New("card 4111") }
func (*fails) UnmarshalJSON([]byte) error  { return nil }

type recursive struct {
	Name string
	Next *recursive
	Kids []recursive
}

type hiding struct {
	time.Time
	Note string
}

// knowing has a method of its own, so that the embedded one hides nothing.
type knowing struct {
	time.Time
	Note string
}

func (k knowing) MarshalJSON() ([]byte, error)  { return json.Marshal([]any{k.Time, k.Note}) }
func (k *knowing) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&k.Time, &k.Note}) }

// halfKnowing has the embedded one's decoder.
type halfKnowing struct {
	time.Time
	Note string
}

func (h halfKnowing) MarshalJSON() ([]byte, error) { return h.Time.MarshalJSON() }

// card writes a mark in its place, as JSON and as text, and reads the text only.
type card struct{ number string }

func (card) MarshalJSON() ([]byte, error)    { return []byte(`"[card]"`), nil }
func (card) MarshalText() ([]byte, error)    { return []byte("[card]"), nil }
func (c *card) UnmarshalText(b []byte) error { c.number = string(b); return nil }

// cardNumber does so as text.
type cardNumber int

func (cardNumber) MarshalText() ([]byte, error) { return []byte("[card]"), nil }

type shadowed struct {
	address
	Street int `json:"street"`
}

type slices []slices

func TestAppendRefusesWhatJSONDoesNotSee(t *testing.T) {
	t.Parallel()
	const exactOnly, both = true, false
	o := opaque{1}

	for name, tc := range map[string]struct {
		arg    any
		exact  bool
		path   string
		reason string
	}{
		"AStructOfWhichNothingIsSeen": {o, both, "", "sees none"},
		"APointerToOne":               {&o, both, "", "sees none"},
		"AFieldWithOne":               {struct{ In opaque }{o}, both, ".In", "sees none"},
		"AnElementThatIsOne":          {struct{ In []map[string]opaque }{}, both, ".In[][]", "sees none"},
		"AStructThatTagsHide": {struct {
			X int `json:"-"`
		}{1}, both, "", "sees none"},
		"AMutex": {struct {
			In *sync.Mutex
			N  int
		}{}, both, ".In", "sees none"},
		"AnElementBehindAnInterface":       {[]any{1, o}, both, "[1].(canonical_test.opaque)", "sees none"},
		"AValueBehindAnInterfaceField":     {struct{ In any }{map[string]any{"k": &o}}, both, ".In[].(*canonical_test.opaque)", "sees none"},
		"AChannel":                         {make(chan int), both, "", "no type for chan int"},
		"AFunction":                        {func() {}, both, "", "no type for func()"},
		"AComplexNumber":                   {struct{ N complex128 }{1}, both, ".N", "no type for complex128"},
		"AFunctionInASlice":                {[]func(){func() {}}, both, "", "no type for func()"},
		"AMethodThatAPointerAloneHas":      {byPointer{1}, both, "", "sees none"},
		"AMapElementThatCannotBeAddressed": {map[string]byPointer{"k": {1}}, both, "[]", "sees none"},
		"AnUnexportedFieldAmongOthers":     {struct{ A, b int }{1, 2}, exactOnly, ".b", "does not see"},
		"AFieldThatATagHides": {struct {
			A int
			B int `json:"-"`
		}{1, 2}, exactOnly, ".B", "does not see"},
		"AFieldThatAnotherHides":            {shadowed{}, exactOnly, ".street", "one of several"},
		"FieldsThatAnEmbeddedMethodHides":   {hiding{}, exactOnly, ".Time", "encodes itself"},
		"TheSameInAStructThatAddsNothing":   {struct{ hiding }{}, exactOnly, ".hiding.Time", "encodes itself"},
		"TheSameBehindAPointer":             {&hiding{}, exactOnly, ".Time", "encodes itself"},
		"TheSameBehindAnInterface":          {[]any{&hiding{}}, exactOnly, "[0].(*canonical_test.hiding).Time", "encodes itself"},
		"AnEncoderWithoutADecoder":          {card{"4111"}, exactOnly, "", "no UnmarshalJSON"},
		"AFieldThatHasOne":                  {struct{ In []*card }{}, exactOnly, ".In[]", "no UnmarshalJSON"},
		"ATextThatHasOne":                   {[]cardNumber{4111}, exactOnly, "[]", "no UnmarshalText"},
		"AMapKeyThatHasOne":                 {map[cardNumber]int{4111: 1}, exactOnly, "[]", "no UnmarshalText"},
		"AValueBehindAnInterfaceThatHasOne": {struct{ In json.Marshaler }{&card{"4111"}}, exactOnly, ".In.(*canonical_test.card)", "no UnmarshalJSON"},
		"ATextBehindAnInterfaceThatHasOne":  {[]any{cardNumber(4111)}, exactOnly, "[0].(canonical_test.cardNumber)", "no UnmarshalText"},
		"AnInterfaceThatEncodesAsText":      {struct{ In encoding.TextMarshaler }{}, exactOnly, ".In", "no UnmarshalText"},
		"AnEncoderWithALentDecoder":         {halfKnowing{}, exactOnly, "", "no UnmarshalJSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem := requireProblem(t, canonical.Exact, "first", tc.arg)
			require.Equal(t, 2, problem.Argument)
			require.Equal(t, tc.path, problem.Path)
			require.Contains(t, problem.Reason, tc.reason)
			require.ErrorContains(t, problem, "dedupe: argument 2 ")
			if tc.exact {
				requireForm(t, canonical.Lenient, tc.arg)
				return
			}
			require.Equal(t, tc.path, requireProblem(t, canonical.Lenient, tc.arg).Path)
		})
	}

	for name, arg := range map[string]any{
		"AStructWithNothingToSee":          struct{}{},
		"BlankFields":                      blankOnly{},
		"AStructThatEncodesItself":         selfMade{1},
		"AnEmbeddedMethodThatIsOverridden": knowing{Note: "a"},
		"AnEmbeddedMethodThatHidesNothing": struct{ time.Time }{},
		"AFieldThatEncodesItself":          struct{ In selfMade }{selfMade{1}},
		"APointerThatEncodesItself":        &byPointer{1},
		"AnElementThatCanBeAddressed":      []byPointer{{1}},
		"ABigNumber":                       big.NewInt(7),
		"ATime":                            time.Unix(0, 0),
		"EmbeddedFields":                   struct{ address }{address{Street: "a"}},
		"AnEmptySliceOfFunctions":          struct{ In []func() }{},
		"AFunctionThatIsLeftOut": struct {
			F func() `json:",omitzero"`
		}{},
		"ATypeThatRefersToItself":       recursive{Name: "a", Next: &recursive{Name: "b"}, Kids: []recursive{{Name: "c"}}},
		"ATypeThatConsistsOnlyOfItself": slices{slices{}, slices{slices{}}},
		"PlainValuesBehindAnInterface":  []any{1, "a", nil, []any{true}, map[string]any{"k": 1.5}},
	} {
		t.Run("ButAccepts"+name, func(t *testing.T) {
			t.Parallel()
			requireForm(t, canonical.Exact, arg)
			requireForm(t, canonical.Lenient, arg)
		})
	}
}

func TestAppendRefusesValues(t *testing.T) {
	t.Parallel()
	cycle := &recursive{Name: "a"}
	cycle.Next = cycle

	for name, tc := range map[string]struct {
		arg    any
		reason string
	}{
		"NotANumber":          {math.NaN(), "NaN"},
		"Infinity":            {struct{ In []float64 }{[]float64{1, math.Inf(-1)}}, "infinity"},
		"ACycle":              {cycle, "cycle"},
		"BrokenRawJSON":       {json.RawMessage(`{`), "cannot be encoded"},
		"AMethodThatFails":    {fails{}, "cannot be encoded"},
		"AMethodThatPanics":   {panics{}, "panicked"},
		"AMapKeyWithoutAText": {map[float64]int{1: 1}, "no type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
				problem := requireProblem(t, mode, 1, tc.arg)
				require.Equal(t, 2, problem.Argument)
				require.Contains(t, problem.Reason, tc.reason)
				require.Error(t, problem.Unwrap())
				require.NotContains(t, problem.Summary(), "4111", "a summary stands in the clear")
			}
		})
	}

	t.Run("TextThatIsNotUTF8WhenExact", func(t *testing.T) {
		t.Parallel()
		// encoding/json makes one text of both.
		require.Equal(t, requireForm(t, canonical.Lenient, "\xff"), requireForm(t, canonical.Lenient, "\xfe"))
		for _, arg := range []any{"\xff", []string{"a\xc3"}, map[string]int{"\xff": 1}, struct{ In any }{"\xff"}} {
			require.Contains(t, requireProblem(t, canonical.Exact, arg).Reason, "UTF-8")
		}
		requireForm(t, canonical.Exact, "\ufffd") // which is text
	})

	t.Run("AndGoesOnAfterwards", func(t *testing.T) {
		t.Parallel()
		want := requireForm(t, canonical.Exact, someOrder())
		for range 10 {
			requireProblem(t, canonical.Exact, panics{})
			requireProblem(t, canonical.Exact, map[string]any{"a": map[string]string{"b": "\xff"}})
			require.Equal(t, want, requireForm(t, canonical.Exact, someOrder()))
		}
	})
}
