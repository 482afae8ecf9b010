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
	h := hex.EncodeToString(t[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseToken reads what [Token.String] returns.
func ParseToken(s string) (Token, error) {
	var t Token
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return t, fmt.Errorf("%w: token %q is not a UUID", ErrInvalidArgument, s)
	}
	b, err := hex.DecodeString(s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	if err != nil {
		return t, fmt.Errorf("%w: token %q is not a UUID", ErrInvalidArgument, s)
	}
	return Token(b), nil
}
