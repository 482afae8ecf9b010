package canonical

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// shape is what is known about the JSON of a type before any value of it is
// seen.
type shape struct {
	// problems say, by mode, why no value of the type has a form.
	problems [2]*problem
	// dynamic: parts of a value stand behind interfaces, so that their types
	// can only be looked at in the value.
	dynamic bool
	// omit leads to the fields that a lenient form leaves out. It encodes zero
	// values, which code of the types may do, so it waits until it is asked.
	omit func() *omission
}

// shapes is filled once per type: looking at a type costs more than encoding a
// value of it.
var shapes sync.Map // reflect.Type → *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape) //nolint:errcheck // nothing else is in there
	}
	s := &shape{}
	x := examiner{shape: s, seen: map[place]bool{}}
	x.examine(place{typ: t}, "", true)
	s.omit = sync.OnceValue(func() *omission { return omissionOf(place{typ: t}, map[place]*omission{}) })
	stored, _ := shapes.LoadOrStore(t, s)
	return stored.(*shape) //nolint:errcheck // nothing else is in there
}

// place is a type at a place where values can be addressed, or cannot: there
// encoding/json calls methods of the pointer as well.
type place struct {
	typ  reflect.Type
	addr bool
}

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// open tells whether the type of what stands here is known by the value only. An
// interface with MarshalText is not open: encoding/json calls that method, even
// where the type behind it has a MarshalJSON of its own.
func (p place) open() bool {
	return p.typ.Kind() == reflect.Interface && p.encoder() != "MarshalText"
}

// encoder is the method of the type that encoding/json calls, looking no further.
// It is empty where there is none.
func (p place) encoder() string {
	switch {
	case p.has(marshaler):
		return "MarshalJSON"
	case p.has(textMarshaler):
		return "MarshalText"
	}
	return ""
}

func (p place) has(method reflect.Type) bool {
	return p.typ.Implements(method) || p.addr && p.typ.Kind() != reflect.Pointer && reflect.PointerTo(p.typ).Implements(method)
}

func (p place) encodesItself() bool { return p.encoder() != "" }

// examiner looks through a type for what JSON does not see.
type examiner struct {
	shape *shape
	seen  map[place]bool
}

func (x *examiner) fail(mode Mode, path, reason string) {
	if x.shape.problems[mode] == nil {
		x.shape.problems[mode] = &problem{path: path, reason: reason}
	}
}

func (x *examiner) failBoth(path, reason string) {
	x.fail(Lenient, path, reason)
	x.fail(Exact, path, reason)
}

// examine looks at one place. Certain: every value of the argument has this
// place, so what encoding/json refuses here it always refuses.
func (x *examiner) examine(p place, path string, certain bool) {
	if p.open() {
		x.shape.dynamic = true
		return
	}
	if method := p.encoder(); method != "" {
		x.encoder(p.typ, method, path)
		return
	}
	if x.seen[p] {
		return
	}
	x.seen[p] = true
	switch t := p.typ; t.Kind() {
	case reflect.Pointer:
		x.examine(place{t.Elem(), true}, path, false)
	case reflect.Slice:
		x.examine(place{t.Elem(), true}, path+"[]", false)
	case reflect.Array:
		x.examine(place{t.Elem(), p.addr}, path+"[]", certain && t.Len() > 0)
	case reflect.Map:
		if k := t.Key(); k.Kind() != reflect.String && k.Implements(textMarshaler) {
			x.encoder(k, "MarshalText", path+"[]")
		}
		x.examine(place{t.Elem(), false}, path+"[]", false)
	case reflect.Struct:
		x.members(p, path, certain)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		if certain {
			x.failBoth(path, "JSON has no type for "+t.String())
		}
	}
}

// members looks at the fields of a struct.
func (x *examiner) members(p place, path string, certain bool) {
	visible, hidden := fieldsOf(p.typ, p.addr)
	if len(visible) == 0 && holdsData(p.typ) {
		x.failBoth(path, "JSON sees none of the fields of "+p.typ.String()+", which has no MarshalJSON")
		return
	}
	if hidden != "" {
		x.fail(Exact, path+"."+hidden, "JSON sees only one of several fields of this name")
	}
	x.invisible(p.typ, path, map[reflect.Type]bool{})
	for _, f := range visible {
		x.examine(place{f.typ, f.addr}, path+"."+f.name, certain && !f.maybe)
	}
}

// invisible refuses an exact form of structs with fields that JSON leaves out.
func (x *examiner) invisible(t reflect.Type, path string, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	for sf := range t.Fields() {
		if sf.Name == "_" {
			continue
		}
		_, inner, ok := classify(sf, embedded{typ: t})
		switch {
		case !ok:
			x.fail(Exact, path+"."+sf.Name, "JSON does not see this field")
		case inner != nil:
			x.invisible(inner.typ, path+"."+sf.Name, seen)
		}
	}
}

// encoder refuses an exact form of types that encode themselves and may hide
// something: by a method that an embedded type lends them, which does not know the
// other fields, or without a decoder. A value need never pass through its encoder
// before it is counted, and only a decoder shows that nothing is lost there.
func (x *examiner) encoder(t reflect.Type, method, path string) {
	if l := loanOf(t, method); len(l.hidden) > 0 {
		x.fail(Exact, path+l.from, "the embedded type encodes itself, which may hide the other fields")
		return
	}
	decoder, name := unmarshaler, "UnmarshalJSON"
	if method == "MarshalText" {
		decoder, name = textUnmarshaler, "UnmarshalText"
	}
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	if !t.Implements(decoder) || len(loanOf(t, name).hidden) > 0 {
		x.fail(Exact, path, "its type has "+method+" and no "+name+" of its own, so that it may hide what tells values apart")
	}
}

// holdsData tells whether values of a struct can differ at all.
func holdsData(t reflect.Type) bool {
	for sf := range t.Fields() {
		if sf.Name != "_" && sf.Type.Size() > 0 {
			return true
		}
	}
	return false
}
