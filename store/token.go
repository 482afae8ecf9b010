package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Token names one acquisition of a record. Every later write of that execution
// carries it, so that a stale owner changes nothing: worker names and attempt
// numbers would not do, since both are used again.
type Token [16]byte

// NewToken returns a random token.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // never fails, by its documentation
	return t
}

// IsZero tells whether the token names no acquisition.
func (t Token) IsZero() bool { return t == Token{} }

// String returns the token in the form of a UUID.
func (t Token) String() string {
	b := make([]byte, 0, 36)
	for _, part := range [][]byte{t[:4], t[4:6], t[6:8], t[8:10], t[10:]} {
		if len(b) > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return string(b)
}

// ParseToken reads what [Token.String] returns.
func ParseToken(s string) (Token, error) {
	var t Token
	digits := make([]byte, 0, 36)
	for i := range len(s) {
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case len(s) != 36 || dash != (s[i] == '-'):
			return Token{}, fmt.Errorf("%w: token %q is not a UUID", ErrInvalidArgument, s)
		case !dash:
			digits = append(digits, s[i])
		}
	}
	if n, err := hex.Decode(t[:], digits); err != nil || n != len(t) {
		return Token{}, fmt.Errorf("%w: token %q is not a UUID", ErrInvalidArgument, s)
	}
	return t, nil
}
