package canonical

import (
	"reflect"
	"sync"

	gogoproto "github.com/gogo/protobuf/proto"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// family is how the SDK's converters treat an argument of some type.
type family int

const (
	familyJSON  family = iota
	familyRaw          // payloads that were not decoded
	familyProto        // messages, by pointer or by value
	familyGogo
)

var (
	rawValue      = reflect.TypeFor[converter.RawValue]()
	encodedValue  = reflect.TypeFor[converter.EncodedValue]()
	encodedValues = reflect.TypeFor[converter.EncodedValues]()
	protoMessage  = reflect.TypeFor[proto.Message]()
	gogoMessage   = reflect.TypeFor[gogoproto.Message]()
)

var families sync.Map // reflect.Type → family

func familyOf(t reflect.Type) family {
	if f, ok := families.Load(t); ok {
		return f.(family) //nolint:errcheck // nothing else is in there
	}
	f := familyJSON
	switch {
	case t == rawValue, t.Implements(encodedValue), t.Implements(encodedValues):
		f = familyRaw
	case is(t, protoMessage):
		f = familyProto
	case is(t, gogoMessage):
		// Messages of google.golang.org/protobuf implement this one too.
		f = familyGogo
	}
	families.Store(t, f)
	return f
}

// is tells whether a value of the type or a pointer to one is a message: the
// SDK's converters take both.
func is(t, message reflect.Type) bool {
	return t.Implements(message) || t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(message)
}
