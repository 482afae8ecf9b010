package canonical

import (
	"encoding/json"
	"errors"
)

// maxDepth is the nesting that encoding/json accepts when it reads.
const maxDepth = 10_000

var (
	errSyntax    = errors.New("not valid JSON")
	errDepth     = errors.New("nested too deeply")
	errDuplicate = errors.New("an object has two members of one name")
	errText      = errors.New("a string is not valid UTF-8")
)

// foreign writes the form of a JSON text that was not written by encoding/json.
func (e *encoder) foreign(text []byte) *problem {
	if !json.Valid(text) {
		return &problem{reason: errSyntax.Error()}
	}
	return e.canonicalise(text, nil, false)
}

// canonicalise reads a valid JSON text and writes its form. Where the text was
// written by encoding/json, strict says so: see string.
func (e *encoder) canonicalise(text []byte, omit *omission, strict bool) *problem {
	e.src, e.pos, e.depth, e.strict = text, 0, 0, strict
	if err := e.value(omit); err != nil {
		return &problem{reason: err.Error()}
	}
	return nil
}

// next skips white space and returns the byte that follows, 0 at the end.
func (e *encoder) next() byte {
	for e.pos < len(e.src) {
		switch c := e.src[e.pos]; c {
		case ' ', '\t', '\n', '\r':
			e.pos++
		default:
			return c
		}
	}
	return 0
}

func (e *encoder) value(omit *omission) error {
	if e.depth++; e.depth > maxDepth {
		return errDepth
	}
	defer func() { e.depth-- }()
	switch e.next() {
	case '{':
		return e.object(omit)
	case '[':
		return e.array(omit)
	case '"':
		return e.string()
	case 't':
		return e.literal("true")
	case 'f':
		return e.literal("false")
	case 'n':
		return e.literal("null")
	default:
		return e.number()
	}
}

func (e *encoder) literal(word string) error {
	if len(e.src)-e.pos < len(word) {
		return errSyntax
	}
	e.pos += len(word)
	e.dst = append(e.dst, word...)
	return nil
}

// array keeps every element, since position is meaning.
func (e *encoder) array(omit *omission) error {
	e.pos++
	e.dst = append(e.dst, '[')
	for first := true; ; first = false {
		switch e.next() {
		case ']':
			e.pos++
			e.dst = append(e.dst, ']')
			return nil
		case ',':
			e.pos++
		case 0:
			return errSyntax
		}
		if !first {
			e.dst = append(e.dst, ',')
		}
		if err := e.value(omit); err != nil {
			return err
		}
	}
}

// empty tells whether a field with this value is left out of a lenient form.
func empty(form []byte) bool {
	switch string(form) {
	case "null", "false", "0", `""`, "[]", "{}":
		return true
	}
	return false
}
