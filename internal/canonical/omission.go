package canonical

import "reflect"

// omission follows the JSON of a value and tells which members come from fields
// tagged dedupe:"-". The nil omission leaves nothing out. Types that refer to
// themselves give omissions that do. Fields behind interfaces are not followed.
type omission struct {
	members map[string]*omission
	skipped map[string]bool
	each    *omission // of every member, where the object is a map
}

// member tells what to follow in a member, and whether to leave it out. Names
// of fields need no escapes, so a form's text of the name is the name.
func (o *omission) member(name []byte) (inner *omission, left bool) {
	switch {
	case o == nil:
		return nil, false
	case o.each != nil:
		return o.each, false
	default:
		return o.members[string(name)], o.skipped[string(name)]
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
			o := &omission{members: map[string]*omission{}, skipped: map[string]bool{}}
			known[p] = o
			visible, _ := fieldsOf(t, p.addr)
			for _, f := range visible {
				if f.skipped {
					o.skipped[f.name] = true
				} else {
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
