package canonical

import (
	"bytes"
	"slices"
)

// member is where a member of an object stands in dst: its name from start to
// colon, its value from there to end.
type member struct{ start, colon, end int }

// object writes members as it meets them and puts them in order at the end,
// where they are not in order already.
func (e *encoder) object(omit *omission) error {
	e.pos++
	e.dst = append(e.dst, '{')
	first, base, ordered := len(e.dst), len(e.members), true
	defer func() { e.members = e.members[:base] }()
	for {
		switch e.next() {
		case '}':
			e.pos++
			if !ordered {
				if err := e.order(first, e.members[base:]); err != nil {
					return err
				}
			}
			e.dst = append(e.dst, '}')
			return nil
		case ',':
			e.pos++
			continue
		case '"':
		default:
			return errSyntax
		}
		before := len(e.dst)
		if before > first {
			e.dst = append(e.dst, ',')
		}
		m := member{start: len(e.dst)}
		if err := e.string(); err != nil {
			return err
		}
		m.colon = len(e.dst)
		known := omit.member(e.dst[m.start+1 : m.colon-1])
		if e.next() != ':' {
			return errSyntax
		}
		e.pos++
		e.dst = append(e.dst, ':')
		if err := e.value(known.inner); err != nil {
			return err
		}
		m.end = len(e.dst)
		if known.leavesOut(e.dst[m.colon+1:]) {
			e.dst = e.dst[:before]
			continue
		}
		if n := len(e.members); n > base && bytes.Compare(e.name(e.members[n-1]), e.name(m)) >= 0 {
			ordered = false
		}
		e.members = append(e.members, m)
	}
}

func (e *encoder) name(m member) []byte { return e.dst[m.start:m.colon] }

// order sorts the members that stand in dst from first on by name, byte by
// byte. Members of one name stand in the order of their values in a lenient
// form and are an error in an exact one: which of them counts is up to the
// reader.
func (e *encoder) order(first int, members []member) error {
	slices.SortFunc(members, func(a, b member) int {
		if c := bytes.Compare(e.name(a), e.name(b)); c != 0 {
			return c
		}
		return bytes.Compare(e.dst[a.colon:a.end], e.dst[b.colon:b.end])
	})
	if e.mode == Exact {
		for i := range members[1:] {
			if bytes.Equal(e.name(members[i]), e.name(members[i+1])) {
				return errDuplicate
			}
		}
	}
	e.scratch = append(e.scratch[:0], e.dst[first:]...)
	e.dst = e.dst[:first]
	for i, m := range members {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.dst = append(e.dst, e.scratch[m.start-first:m.end-first]...)
	}
	return nil
}
