package canonical

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// string writes a string by its content: only quotes, backslashes, control
// characters and lone surrogates are escaped, always in the same way.
//
// encoding/json writes invalid UTF-8 as the escape \ufffd, and a genuine U+FFFD
// as it is. The escape therefore tells of bytes that were lost: strings that
// differed look alike, which an exact form must not accept.
func (e *encoder) string() error {
	e.pos++
	e.dst = append(e.dst, '"')
	for from := e.pos; ; {
		if e.pos >= len(e.src) {
			return errSyntax
		}
		switch c := e.src[e.pos]; {
		case c == '"':
			e.dst = append(append(e.dst, e.src[from:e.pos]...), '"')
			e.pos++
			return nil
		case c == '\\':
			e.dst = append(e.dst, e.src[from:e.pos]...)
			if err := e.escape(); err != nil {
				return err
			}
			from = e.pos
		default:
			e.pos++
		}
	}
}

// escape reads one escape sequence, or two that make a surrogate pair.
func (e *encoder) escape() error {
	if e.pos+1 >= len(e.src) {
		return errSyntax
	}
	c := e.src[e.pos+1]
	e.pos += 2
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return e.unicode()
	}
	e.rune(rune(c))
	return nil
}

func (e *encoder) unicode() error {
	r, ok := e.hex4(e.pos)
	if !ok {
		return errSyntax
	}
	e.pos += 4
	if r == utf8.RuneError && e.strict && e.mode == Exact {
		return errText
	}
	if utf16.IsSurrogate(r) && e.pos+1 < len(e.src) && e.src[e.pos] == '\\' && e.src[e.pos+1] == 'u' {
		if low, ok := e.hex4(e.pos + 2); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				e.pos += 6
				r = pair
			}
		}
	}
	e.rune(r)
	return nil
}

// rune writes one character of a string's content.
func (e *encoder) rune(r rune) {
	switch {
	case r == '"' || r == '\\':
		e.dst = append(e.dst, '\\', byte(r))
	case r < ' ' || utf16.IsSurrogate(r):
		e.dst = append(e.dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	default:
		e.dst = utf8.AppendRune(e.dst, r)
	}
}

func (e *encoder) hex4(at int) (rune, bool) {
	if at+4 > len(e.src) {
		return 0, false
	}
	var r rune
	for _, c := range e.src[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
