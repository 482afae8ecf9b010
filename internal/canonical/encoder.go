package canonical

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
)

// encoder holds what one call of Append needs. Encoders are reused: counting
// and fingerprinting stand on the path of every call.
type encoder struct {
	mode Mode
	dst  []byte

	text    bytes.Buffer // JSON of the current argument
	json    *json.Encoder
	src     []byte // what is being read of it
	pos     int
	depth   int
	strict  bool // src was written by encoding/json
	members []member
	scratch []byte
}

// maxKept bounds the memory that an idle encoder holds on to.
const maxKept = 64 << 10

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

func acquire(dst []byte, mode Mode) *encoder {
	e := encoders.Get().(*encoder) //nolint:errcheck // nothing else is in there
	e.dst, e.mode = dst, mode
	return e
}

func (e *encoder) release() {
	if e.text.Cap() > maxKept || cap(e.scratch) > maxKept || cap(e.members) > maxKept/64 {
		return
	}
	e.text.Reset()
	e.dst, e.src, e.members, e.scratch = nil, nil, e.members[:0], e.scratch[:0]
	encoders.Put(e)
}

// argument writes one argument with its tag.
func (e *encoder) argument(v any) *problem {
	switch v := v.(type) {
	case nil:
		e.dst = append(e.dst, tagNull)
		return nil
	case Own:
		e.frame(tagOwn, v)
		return nil
	case []byte:
		if v == nil {
			e.dst = append(e.dst, tagNull)
			return nil
		}
		e.frame(tagBytes, v)
		return nil
	}
	rv := reflect.ValueOf(v)
	if isNil(rv) {
		e.dst = append(e.dst, tagNull)
		return nil
	}
	r := relationOf(rv.Type())
	if p := e.beside(rv, r.loan); p != nil {
		return p
	}
	switch r.family {
	case familyRaw:
		return e.raw(v)
	case familyProto:
		return e.proto(rv)
	case familyGogo:
		return e.gogo(rv)
	}
	return e.encoded(rv, shapeOf(rv.Type()))
}

// isNil tells whether the SDK's converters would write the value as nil.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func:
		return v.IsNil()
	}
	return false
}

// frame writes content of known length.
func (e *encoder) frame(tag byte, content []byte) {
	e.dst = append(e.dst, tag)
	e.dst = binary.AppendUvarint(e.dst, uint64(len(content)))
	e.dst = append(e.dst, content...)
}

// encoded writes a value by way of encoding/json, whose rules for tags,
// embedded fields and methods are the ones that users know.
func (e *encoder) encoded(v reflect.Value, s *shape) *problem {
	if p := s.problems[e.mode]; p != nil {
		return p
	}
	e.text.Reset()
	if err := e.json.Encode(v.Interface()); err != nil {
		return jsonProblem(err)
	}
	if s.dynamic {
		// Only after encoding: encoding/json has then ruled out cycles.
		if p := e.dynamic(v, ""); p != nil {
			return p
		}
	}
	var omit *omission
	if e.mode == Lenient {
		omit = s.omit()
	}
	// The text ends itself, so it needs no length.
	e.dst = append(e.dst, tagJSON)
	return e.canonicalise(e.text.Bytes(), omit, true)
}

func jsonProblem(err error) *problem {
	p := &problem{reason: "it cannot be encoded as JSON", err: err}
	var value *json.UnsupportedValueError
	var typ *json.UnsupportedTypeError
	switch {
	case errors.As(err, &value):
		p.reason = "JSON has no such value (NaN, infinity or a cycle)"
	case errors.As(err, &typ):
		p.reason = "JSON has no type for " + typ.Type.String()
	}
	return p
}
