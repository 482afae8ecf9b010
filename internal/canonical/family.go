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

// relation is how a type belongs to its family.
type relation struct {
	family
	// loan: the type is a message only because it embeds one.
	loan loan
}

var relations sync.Map // reflect.Type → *relation

func relationOf(t reflect.Type) *relation {
	if r, ok := relations.Load(t); ok {
		return r.(*relation) //nolint:errcheck // nothing else is in there
	}
	r := &relation{family: familyJSON}
	switch {
	case t == rawValue, t.Implements(encodedValue), t.Implements(encodedValues):
		r.family = familyRaw
	case is(t, protoMessage):
		*r = relation{familyProto, loanOf(t, "ProtoReflect")}
	case is(t, gogoMessage):
		// Messages of google.golang.org/protobuf implement this one too.
		*r = relation{familyGogo, loanOf(t, "ProtoMessage")}
	}
	relations.Store(t, r)
	return r
}

// is tells whether a value of the type or a pointer to one is a message: the
// SDK's converters take both.
func is(t, message reflect.Type) bool {
	return t.Implements(message) || t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(message)
}
