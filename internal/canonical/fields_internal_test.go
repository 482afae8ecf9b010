package canonical

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	left   struct{ Shared, OnlyLeft int }
	right  struct{ Shared, OnlyRight int }
	tagged struct {
		Other int `json:"Shared"`
	}
	deep  struct{ Low }
	Low   struct{ Bottom, Shared int }
	again struct{ Low }
	Text  string
	plug  interface{ Unplug() }
)

// TestFieldsOf holds our reading of struct tags against encoding/json's own.
func TestFieldsOf(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"Plain": struct{ A, B int }{},
		"Renamed": struct {
			A int `json:"b"`
		}{},
		"RenamedToADash": struct {
			A int `json:"-,"` //nolint:staticcheck // encoding/json takes it, so do we
		}{},
		"Hidden": struct {
			A int `json:"-"`
		}{},
		"Unexported": struct{ A, b int }{},
		"WithABrokenName": struct {
			A int `json:"a\"b"` //nolint:staticcheck // encoding/json ignores it, so do we
		}{},
		"WithAnOddName": struct {
			A int `json:"a b/c.d<e>"`
		}{},
		"WithALetterName": struct {
			A int `json:"größe"`
		}{},
		"WithOptionsOnly": struct {
			A int `json:",string"`
		}{},
		"Embedded":        struct{ left }{},
		"EmbeddedPointer": struct{ *Low }{&Low{}},
		"EmbeddedWithAName": struct {
			Low `json:"low"`
		}{},
		"EmbeddedWithADash": struct {
			Low `json:"-"`
		}{},
		"EmbeddedText":      struct{ Text }{},
		"EmbeddedInterface": struct{ plug }{},
		"Conflicting": struct {
			left
			right
		}{},
		"ConflictWithATag": struct {
			left
			tagged
		}{},
		"TwoTags": struct {
			tagged
			B int `json:"Shared"`
		}{},
		"Shadowed": struct {
			left
			Shared string
		}{},
		"TheSameTwiceDeep": struct {
			deep
			again
		}{},
		"TheSameAtTwoDepths": struct {
			deep
			Low
		}{},
		"ManyOfThem": struct {
			left
			right
			deep
			tagged
			X int
		}{},
		"PointerToUnexported": struct{ *left }{&left{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(v)
			require.NoError(t, err)
			var want map[string]any
			require.NoError(t, json.Unmarshal(text, &want))
			visible, _ := fieldsOf(reflect.TypeOf(v), false)
			names := []string{}
			for _, f := range visible {
				names = append(names, f.name)
			}
			require.ElementsMatch(t, slices.Collect(maps.Keys(want)), names)
		})
	}
}
