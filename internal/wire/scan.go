package wire

import "strings"

// scan reads a header that looks as [Encode] writes it: the members in their
// order, no white space, and every text as it is. It answers false for everything
// else, right or wrong, which is left to encoding/json: that reads what scan accepts
// as the same facts. Most headers are written by this library, and one is read for
// each call: encoding/json takes 3 µs and 13 allocations, scan 0.4 µs and 2.
//
// The texts are parts of one string. Who keeps one of them for long clones it.
func scan(data []byte) (Facts, bool) {
	s := scanner{rest: string(data)}
	version, begun := s.number(`{"v":`)
	if !begun {
		return Facts{}, false
	}
	f := Facts{Version: version}
	f.To = s.text(`,"to":"`)
	f.WorkflowID = s.text(`,"workflow_id":"`)
	f.RunID = s.text(`,"run_id":"`)
	f.Scope = s.list(`,"scope":["`)
	f.Input = s.text(`,"input":"`)
	f.Lineage = s.text(`,"lineage":"`)
	f.OriginalRunID = s.text(`,"original_run_id":"`)
	f.Execution = s.text(`,"execution":"`)
	if n, ok := s.number(`,"chain":`); ok {
		chain := n
		f.Chain = &chain
	}
	f.Cron = s.skip(`,"cron":true`)
	f.Number, _ = s.number(`,"n":`)
	f.Step = s.text(`,"step":"`)
	f.BusinessKey = s.text(`,"business_key":"`)
	f.Function = s.text(`,"function":"`)
	f.Arguments = s.text(`,"arguments":"`)
	f.Uncountable = s.text(`,"uncountable":"`)
	f.Exempt = s.skip(`,"exempt":true`)
	if s.other || s.rest != "}" {
		return Facts{}, false
	}
	return f, true
}

// scanner reads members from the front of a text. A member that is not there reads
// as the zero value.
type scanner struct {
	rest  string
	other bool // what is there is not as Encode writes it
}

// skip tells whether the text goes on with these bytes, and leaves them behind.
func (s *scanner) skip(begin string) (ok bool) {
	s.rest, ok = strings.CutPrefix(s.rest, begin)
	return ok
}

// text reads a member whose name and first quotation mark are given.
func (s *scanner) text(begin string) string {
	if !s.skip(begin) {
		return ""
	}
	return s.quoted()
}

// quoted reads up to a quotation mark. Escapes, and what may not be UTF-8, are left
// to encoding/json.
func (s *scanner) quoted() string {
	for i := range len(s.rest) {
		switch c := s.rest[i]; {
		case c == '"':
			text := s.rest[:i]
			s.rest = s.rest[i+1:]
			return text
		case c < ' ' || c == '\\' || c >= 0x80:
			s.other = true
			return ""
		}
	}
	s.other = true
	return ""
}

// list reads a list of at least one text.
func (s *scanner) list(begin string) []string {
	if !s.skip(begin) {
		return nil
	}
	texts := []string{s.quoted()}
	for s.skip(`,"`) {
		texts = append(texts, s.quoted())
	}
	if !s.skip("]") {
		s.other = true
	}
	return texts
}

// number reads a member of up to nine digits. A tenth is no member.
func (s *scanner) number(begin string) (n int, ok bool) {
	if !s.skip(begin) {
		return 0, false
	}
	digits := 0
	for digits < min(len(s.rest), 9) && '0' <= s.rest[digits] && s.rest[digits] <= '9' {
		n = 10*n + int(s.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > 1 && s.rest[0] == '0' {
		s.other = true
	}
	s.rest = s.rest[digits:]
	return n, true
}
