package canonical_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

func TestJSON(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct{ text, exact, lenient string }{
		"SortsMembers":                       {`{"b":1,"a":2,"c":3}`, `{"a":2,"b":1,"c":3}`, `{"a":2,"b":1,"c":3}`},
		"SortsNestedMembers":                 {`{"z":{"b":1,"a":2},"a":[{"y":1,"x":2}]}`, `{"a":[{"x":2,"y":1}],"z":{"a":2,"b":1}}`, `{"a":[{"x":2,"y":1}],"z":{"a":2,"b":1}}`},
		"SortsNamesByContentNotByEscapes":    {`{"\u0062":1,"a":2}`, `{"a":2,"b":1}`, `{"a":2,"b":1}`},
		"IgnoresSpacing":                     {" {\t\"a\" : [ 1 ,\r\n 2 ] } ", `{"a":[1,2]}`, `{"a":[1,2]}`},
		"KeepsEmptyMembers":                  {`{"a":null,"b":false,"c":0,"d":"","e":[],"f":{},"g":1}`, `{"a":null,"b":false,"c":0,"d":"","e":[],"f":{},"g":1}`, `{"a":null,"b":false,"c":0,"d":"","e":[],"f":{},"g":1}`},
		"KeepsMembersOfZero":                 {`{"a":{"b":{"c":-0.0e7}},"d":1}`, `{"a":{"b":{"c":0}},"d":1}`, `{"a":{"b":{"c":0}},"d":1}`},
		"KeepsEveryElementOfAnArray":         {`[null,false,0,"",[],{},{"a":0}]`, `[null,false,0,"",[],{},{"a":0}]`, `[null,false,0,"",[],{},{"a":0}]`},
		"KeepsAnArrayOfEmptyElements":        {`{"a":[0]}`, `{"a":[0]}`, `{"a":[0]}`},
		"KeepsTrue":                          {`{"a":true}`, `{"a":true}`, `{"a":true}`},
		"NeverLeavesOutTheValueItself":       {`null`, `null`, `null`},
		"WritesIntegersWithoutZeros":         {`[100,1e2,100.0,1.0E+2,10e1]`, `[1e2,1e2,1e2,1e2,1e2]`, `[1e2,1e2,1e2,1e2,1e2]`},
		"WritesFractionsAsIntegers":          {`[1.5,15e-1,0.15e1,-0.001]`, `[15e-1,15e-1,15e-1,-1e-3]`, `[15e-1,15e-1,15e-1,-1e-3]`},
		"MakesAllZerosOne":                   {`[0,-0,0.0,0e99,-0.00E-5]`, `[0,0,0,0,0]`, `[0,0,0,0,0]`},
		"KeepsEveryDigit":                    {`[9007199254740993,0.1000000000000000055511151231257827]`, `[9007199254740993,1000000000000000055511151231257827e-34]`, `[9007199254740993,1000000000000000055511151231257827e-34]`},
		"DoesNotExpandExponents":             {`1.50e999999999`, `15e999999998`, `15e999999998`},
		"AddsExponentsOfAnySize":             {`[1.5e-99999999999999999999,10e+99999999999999999999]`, `[15e-100000000000000000000,1e100000000000000000000]`, `[15e-100000000000000000000,1e100000000000000000000]`},
		"IgnoresZerosBeforeAnExponent":       {`1e00000000000000000000000000002`, `1e2`, `1e2`},
		"WritesStringsByContent":             {`["\u0041\/\u00fc\ud83d\ude00","A/ü😀"]`, `["A/ü😀","A/ü😀"]`, `["A/ü😀","A/ü😀"]`},
		"EscapesOnlyWhatItMust":              {`"\"\\\b\f\n\r\t\u0000\u003c\u2028"`, "\"\\\"\\\\\\u0008\\u000c\\u000a\\u000d\\u0009\\u0000<\u2028\"", "\"\\\"\\\\\\u0008\\u000c\\u000a\\u000d\\u0009\\u0000<\u2028\""},
		"KeepsLoneSurrogatesApart":           {`["\uD800","\ud801\u0041","\udc00\ud800"]`, `["\ud800","\ud801A","\udc00\ud800"]`, `["\ud800","\ud801A","\udc00\ud800"]`},
		"AcceptsTheReplacementAsAnyOtherOne": {`"\ufffd"`, "\"\ufffd\"", "\"\ufffd\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.exact, requireJSON(t, canonical.Exact, tc.text))
			require.Equal(t, tc.lenient, requireJSON(t, canonical.Lenient, tc.text))
		})
	}

	t.Run("RefusesRepeatedNamesWhenExact", func(t *testing.T) {
		t.Parallel()
		_, err := canonical.JSON(nil, []byte(`{"a":1,"b":2,"\u0061":3}`), canonical.Exact)
		require.ErrorContains(t, err, "two members of one name")
	})

	t.Run("OrdersRepeatedNamesByValueWhenLenient", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, requireJSON(t, canonical.Lenient, `{"a":1,"a":2}`), requireJSON(t, canonical.Lenient, `{"a":2,"a":1}`))
	})

	for name, text := range map[string]string{
		"RefusesNothing":         ``,
		"RefusesTwoValues":       `1 2`,
		"RefusesAnOpenObject":    `{"a":1`,
		"RefusesAnOpenString":    `"a`,
		"RefusesABareWord":       `nul`,
		"RefusesABrokenNumber":   `01`,
		"RefusesAControlInAText": "\"\x00\"",
		"RefusesADeepNest":       strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := canonical.JSON(nil, []byte(text), canonical.Exact)
			require.Error(t, err)
		})
	}
}
