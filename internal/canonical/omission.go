package canonical

import "reflect"

// omission follows the JSON of a value and tells which members may be left out.
// Those come from fields of structs: in a map the name is data, and an entry with
// an empty value is not the same as none. The nil omission leaves nothing out.
// Types that refer to themselves give omissions that do. Fields behind interfaces
// are not followed.
type omission struct {
	members map[string]*omission
	rules   map[string]rule
	each    *omission // of every member, where the object is a map
}

// rule says when a member is left out of a lenient form.
type rule int

const (
	keep   rule = iota
	skip        // always: tagged dedupe:"-"
	ifZero      // where its value is null, false, 0, "" or empty
	ifNull      // where it is null: a pointer to 0 is not the nil pointer
)

// leavesOut applies the rule to a value's form.
func (r rule) leavesOut(form []byte) bool {
	switch r {
	case skip:
		return true
	case ifZero:
		return empty(form)
	case ifNull:
		return string(form) == "null"
	default:
		return false
	}
}

// ruleFor is the rule for a field.
func ruleFor(f field) rule {
	switch {
	case f.skipped:
		return skip
	case f.typ.Kind() == reflect.Pointer || f.typ.Kind() == reflect.Interface:
		return ifNull
	default:
		return ifZero
	}
}

// member tells what to follow in a member, and when to leave it out. Names of
// fields need no escapes, so a form's text of the name is the name.
func (o *omission) member(name []byte) (inner *omission, r rule) {
	switch {
	case o == nil:
		return nil, keep
	case o.each != nil:
		return o.each, keep
	default:
		return o.members[string(name)], o.rules[string(name)]
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
			o := &omission{members: map[string]*omission{}, rules: map[string]rule{}}
			known[p] = o
			visible, _ := fieldsOf(t, p.addr)
			for _, f := range visible {
				o.rules[f.name] = ruleFor(f)
				if !f.skipped {
					o.members[f.name] = omissionOf(place{f.typ, f.addr}, known)
				}
			}
			return o
		default:
			return nil
		}
	}
	return nil
}
