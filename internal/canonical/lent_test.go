package canonical_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// speaker has a method that embedding it lends to others, speakerByPointer one
// that its pointer has. Both are so short that the compiler inlines them.
type (
	speaker          struct{ Words string }
	speakerByPointer struct{ Words string }
	speaking         interface{ Speak() string }
	word             string
)

func (s speaker) Speak() string           { return s.Words }
func (s *speakerByPointer) Speak() string { return s.Words }
func (w word) Speak() string              { return string(w) }

type (
	lentByValue struct {
		speaker
		Note string
	}
	lentByPointer struct {
		speakerByPointer
		Note string
	}
	lentTwice struct {
		lentByValue
	}
	ownByValue struct {
		speaker
		Note string
	}
	ownByPointer struct {
		*speaker
		Note string
	}
	ownGeneric[T any] struct {
		speaker
		Note T
	}
)

func (o ownByValue) Speak() string    { return o.speaker.Speak() }
func (o *ownByPointer) Speak() string { return o.speaker.Speak() }
func (o ownGeneric[T]) Speak() string { return o.Words }

func TestLender(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"AMethodOfAValue":       {speaker{}, ""},
		"AMethodOfAPointer":     {speakerByPointer{}, ""},
		"AMethodOfNoStruct":     {word(""), ""},
		"AMethodOfAnInterface":  {new(speaking), ""},
		"ALentMethodOfAValue":   {lentByValue{}, ".speaker"},
		"ALentMethodOfAPointer": {lentByPointer{}, ".speakerByPointer"},
		"ALentMethodOfAnEmbeddedPointer": {struct {
			Note string
			*speakerByPointer
		}{}, ".speakerByPointer"},
		"ALentMethodOfNoStruct": {struct {
			word
			Note string
		}{}, ".word"},
		"AMethodThatIsLentOn":               {lentTwice{}, ".lentByValue.speaker"},
		"AMethodOfAnyTypeBehindAnInterface": {struct{ speaking }{}, ".speaking"},
		"AMethodThatTwoFieldsCouldLend": {struct {
			speaker
			lentByPointer
		}{}, ".speaker"},
		"AMethodOfTheOnlyField":                {struct{ speaker }{}, ""},
		"AMethodOfTheOnlyFieldThatHasItItself": {struct{ *ownByPointer }{}, ""},
		"AMethodOfTheOnlyFieldThatHoldsData": {struct {
			_ int
			speaker
			Nothing struct{}
		}{}, ""},
		"AMethodOfTheOnlyFieldThatCounts": {struct {
			speaker
			Trace string `dedupe:"-"`
		}{}, ""},
		"AnOwnMethodOfAValue":       {ownByValue{}, ""},
		"AnOwnMethodOfAPointer":     {ownByPointer{}, ""},
		"AnOwnMethodOfAGenericType": {ownGeneric[int]{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ := reflect.TypeOf(tc.value)
			require.Equal(t, tc.want, canonical.Lender(typ, "Speak"))
			require.Equal(t, tc.want, canonical.Lender(reflect.PointerTo(typ), "Speak"), "the compiler writes this method in any case")
		})
	}
}
