package canonical_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// FuzzJSON holds that every JSON text has a form, unless it repeats a name, and
// that the form is JSON of the same value and its own form.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"b":1,"a":{"d":[],"c":""}}`, `[1.50e3,-0,1e-7,9007199254740993,0.1E+2]`,
		`"\u0000\ud83d\ude00\ud800\/<"`, `{"a":0,"\u0061":1}`, ` [ {} , [ ] ] `, `[[[[[[]]]]]]`, `{"":{"":""}}`, "\"\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
			form, err := canonical.JSON(nil, text, mode)
			if !json.Valid(text) {
				require.Error(t, err)
				continue
			}
			if err != nil {
				require.ErrorContains(t, err, "two members of one name")
				continue
			}
			again, err := canonical.JSON(nil, form, mode)
			require.NoError(t, err, "%s", form)
			require.Equal(t, string(form), string(again))
			if mode == canonical.Exact {
				require.True(t, equal(decode(t, text), decode(t, form)), "%s became %s", text, form)
			}
		}
	})
}

// FuzzEqual holds that two JSON texts have one exact form if and only if
// encoding/json reads the same value from both.
func FuzzEqual(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1,"b":2}`, `{"b":2.0,"a":10e-1}`}, {`[1,2]`, `[2,1]`}, {`"a"`, `"\u0061"`},
		{`{}`, `[]`}, {`0`, `-0`}, {`1e400`, `1e401`}, {`"1"`, `1`}, {`[[],1]`, `[[1]]`}, {`{"a":{"b":1}}`, `{"a":1,"b":1}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one, errOne := canonical.JSON(nil, a, canonical.Exact)
		two, errTwo := canonical.JSON(nil, b, canonical.Exact)
		if errOne != nil || errTwo != nil || bytes.ContainsAny(a, "\\\xff\xfe") || bytes.ContainsAny(b, "\\\xff\xfe") {
			return // encoding/json does not tell lone surrogates and invalid bytes apart
		}
		if !json.Valid(bytes.ToValidUTF8(a, nil)) || !bytes.Equal(a, bytes.ToValidUTF8(a, nil)) || !bytes.Equal(b, bytes.ToValidUTF8(b, nil)) {
			return
		}
		require.Equal(t, equal(decode(t, a), decode(t, b)), bytes.Equal(one, two), "%s and %s", one, two)
	})
}

func decode(t *testing.T, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

// equal compares decoded values, numbers as exact fractions.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for name, v := range a {
			if w, ok := other[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for i := range a {
			if !equal(a[i], other[i]) {
				return false
			}
		}
		return true
	case json.Number:
		other, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(other))
	default:
		return a == b
	}
}

// sameNumber compares by big.Rat where it can and otherwise by text, which is
// then the same if the fuzzer only moved the exponent along.
func sameNumber(a, b string) bool {
	if len(a) > 40 || len(b) > 40 || hugeExponent(a) || hugeExponent(b) {
		one, _ := canonical.JSON(nil, []byte(a), canonical.Exact)
		two, _ := canonical.JSON(nil, []byte(b), canonical.Exact)
		return bytes.Equal(one, two)
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

func hugeExponent(s string) bool {
	i := bytes.IndexAny([]byte(s), "eE")
	return i >= 0 && len(s)-i > 5
}
