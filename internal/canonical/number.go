package canonical

import (
	"bytes"
	"math/big"
	"strconv"
)

// number writes the decimal value as an integer without trailing zeros and an
// exponent: 15e2 for 1500, 1.5e3 and 1.50E+3. It works on the text alone, so
// that no digit is lost and no exponent is expanded.
func (e *encoder) number() error {
	start := e.pos
	for e.pos < len(e.src) && isNumber(e.src[e.pos]) {
		e.pos++
	}
	text := e.src[start:e.pos]
	if len(text) == 0 {
		return errSyntax
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	mantissa, exponent := text, []byte(nil)
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction := mantissa, []byte(nil)
	if i := bytes.IndexByte(mantissa, '.'); i >= 0 {
		whole, fraction = mantissa[:i], mantissa[i+1:]
	}

	begin := len(e.dst)
	e.dst = append(e.dst, '-')
	e.dst = append(append(e.dst, whole...), fraction...)
	all := e.dst[begin+1:]
	digits := bytes.TrimLeft(all, "0")
	significant := bytes.TrimRight(digits, "0")
	if len(significant) == 0 {
		e.dst = append(e.dst[:begin], '0')
		return nil
	}
	shift := len(digits) - len(significant) - len(fraction)
	at := begin
	if negative {
		at++
	}
	e.dst = e.dst[:at+copy(e.dst[at:], significant)]
	return e.exponent(exponent, shift)
}

// exponent writes the sum of an exponent's text and a shift, unless it is 0.
func (e *encoder) exponent(text []byte, shift int) error {
	const fits = 15 // digits whose sum with any shift fits in 64 bits
	if len(text) <= fits {
		n := int64(shift)
		if len(text) > 0 {
			given, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return errSyntax
			}
			n += given
		}
		if n != 0 {
			e.dst = strconv.AppendInt(append(e.dst, 'e'), n, 10)
		}
		return nil
	}
	given, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return errSyntax
	}
	if given.Add(given, big.NewInt(int64(shift))); given.Sign() != 0 {
		e.dst = given.Append(append(e.dst, 'e'), 10)
	}
	return nil
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}
