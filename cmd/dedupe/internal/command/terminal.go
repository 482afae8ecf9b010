package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// plain keeps text from other people's programs from steering the terminal.
func plain(s string) string {
	for _, r := range s {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			quoted := strconv.QuoteToGraphic(s)
			return quoted[1 : len(quoted)-1]
		}
	}
	return s
}

// or gives a dash for nothing.
func or(s string) string {
	if s == "" {
		return "-"
	}
	return plain(s)
}

// lines is plain for text of several lines, and of several columns.
func lines(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToGraphic(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// plainJSON escapes what encoding/json lets through although terminals obey it.
// Such runes stand in strings only, where the escape means the same.
func plainJSON(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			_, _ = fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			_, _ = fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// shell quotes a word for a shell, so that a command that is printed can be
// pasted whatever stands in a key; $'…' is what bash, zsh and ksh know.
func shell(s string) string {
	if plain(s) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case unicode.IsGraphic(r):
			out.WriteRune(r)
		default:
			for _, b := range []byte(string(r)) {
				_, _ = fmt.Fprintf(&out, `\x%02x`, b)
			}
		}
	}
	out.WriteString("'")
	return out.String()
}
