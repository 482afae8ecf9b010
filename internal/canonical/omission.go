package canonical

import (
	"encoding/json"
	"reflect"
)

// omission follows the JSON of a value and tells which members may be left out.
// Those come from fields of structs: in a map the name is data, and an entry with
// an empty value is not the same as none. The nil omission leaves nothing out.
// Types that refer to themselves give omissions that do. Fields behind interfaces
// are not followed.
type omission struct {
	members map[string]entry
	each    *omission // of every member, where the object is a map
}

// entry is what is known about a member that comes from a field.
type entry struct {
	inner *omission
	rule  rule
	zero  string // the form that ifZero leaves out
}

// rule says when a member is left out of a lenient form.
type rule int

const (
	keep    rule = iota
	skip         // always: tagged dedupe:"-"
	ifEmpty      // where its value is null, false, 0, "" or empty
	ifNull       // where it is null: a pointer to 0 is not the nil pointer
	ifZero       // where it is the zero value of a type that encodes itself
)

// leavesOut applies the rule to a value's form.
func (m entry) leavesOut(form []byte) bool {
	switch m.rule {
	case skip:
		return true
	case ifEmpty:
		return empty(form)
	case ifNull:
		return string(form) == "null"
	case ifZero:
		return string(form) == m.zero
	default:
		return false
	}
}

// entryOf finds the rule for a field. What a type that encodes itself writes says
// nothing about what is empty: null and 0 may be two values of it, and a time is
// never empty. Such a field is new and unset where it writes what its zero value
// does.
func entryOf(f field, known map[place]*omission) entry {
	p := place{f.typ, f.addr}
	switch {
	case f.skipped:
		return entry{rule: skip}
	case f.typ.Kind() == reflect.Interface:
		return entry{rule: ifNull}
	case f.typ.Kind() == reflect.Pointer:
		return entry{rule: ifNull, inner: omissionOf(p, known)}
	case p.encodesItself():
		zero, ok := zeroForm(p)
		if !ok {
			return entry{rule: keep}
		}
		return entry{rule: ifZero, zero: zero}
	default:
		return entry{rule: ifEmpty, inner: omissionOf(p, known)}
	}
}

// zeroForm is the form of a type's zero value, where it has one.
func zeroForm(p place) (form string, ok bool) {
	defer func() {
		if recover() != nil {
			form, ok = "", false
		}
	}()
	zero := reflect.New(p.typ)
	if !p.addr {
		zero = zero.Elem()
	}
	text, err := json.Marshal(zero.Interface())
	if err != nil {
		return "", false
	}
	e := acquire(nil, Lenient)
	defer e.release()
	if e.canonicalise(text, nil, true) != nil {
		return "", false
	}
	return string(e.dst), true
}

// member tells what to follow in a member, and when to leave it out. Names of
// fields need no escapes, so a form's text of the name is the name.
func (o *omission) member(name []byte) entry {
	switch {
	case o == nil:
		return entry{}
	case o.each != nil:
		return entry{inner: o.each}
	default:
		return o.members[string(name)]
	}
}

func omissionOf(p place, known map[place]*omission) *omission {
	// Pointers, slices and arrays add no members of their own. A type may
	// consist of nothing else (type T []T), hence the bound.
	for range maxDepth {
		if p.encodesItself() {
			return nil
		}
		if o, ok := known[p]; ok {
			return o
		}
		switch t := p.typ; t.Kind() {
		case reflect.Pointer, reflect.Slice:
			p = place{t.Elem(), true}
		case reflect.Array:
			p = place{t.Elem(), p.addr}
		case reflect.Map:
			o := &omission{}
			known[p] = o
			o.each = omissionOf(place{t.Elem(), false}, known)
			return o
		case reflect.Struct:
			o := &omission{members: map[string]entry{}}
			known[p] = o
			visible, _ := fieldsOf(t, p.addr)
			for _, f := range visible {
				o.members[f.name] = entryOf(f, known)
			}
			return o
		default:
			return nil
		}
	}
	return nil
}
