package canonical

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a member of the JSON object that encoding/json makes of a struct.
type field struct {
	name    string
	typ     reflect.Type
	addr    bool // the value can be addressed, so pointer methods are called
	skipped bool // tagged dedupe:"-"
	maybe   bool // left out by encoding/json where it is the zero value
}

// candidate is a field that competes for a name.
type candidate struct {
	field
	depth  int
	tagged bool
}

// embedded is a struct whose fields are members of the outer object.
type embedded struct {
	typ           reflect.Type
	addr, skipped bool
}

// fieldsOf lists the fields of a struct that encoding/json sees, by its rules
// for tags and embedding, and names one that it hides behind another, if any.
func fieldsOf(t reflect.Type, addr bool) (visible []field, hidden string) {
	byName := map[string][]candidate{}
	visited := map[reflect.Type]bool{}
	level := []embedded{{typ: t, addr: addr}}
	for depth := 0; len(level) > 0; depth++ {
		var next []embedded
		seen := map[reflect.Type]int{}
		for _, outer := range level {
			seen[outer.typ]++
		}
		for _, outer := range level {
			if visited[outer.typ] {
				continue
			}
			visited[outer.typ] = true
			for sf := range outer.typ.Fields() {
				c, inner, ok := classify(sf, outer)
				switch {
				case !ok:
				case inner != nil:
					next = append(next, *inner)
				default:
					c.depth = depth
					byName[c.name] = append(byName[c.name], c)
					if seen[outer.typ] > 1 {
						// The same struct is embedded twice at one depth: its
						// fields cancel each other out.
						byName[c.name] = append(byName[c.name], c)
					}
				}
			}
		}
		level = next
	}
	for name, candidates := range byName {
		winner, ok := dominant(candidates)
		if ok {
			visible = append(visible, winner.field)
		}
		if len(candidates) > 1 && (hidden == "" || name < hidden) {
			hidden = name
		}
	}
	slices.SortFunc(visible, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return visible, hidden
}

// classify reads one struct field: a member, an embedded struct, or nothing
// that encoding/json looks at.
func classify(sf reflect.StructField, outer embedded) (candidate, *embedded, bool) {
	target, addr := sf.Type, outer.addr
	if target.Name() == "" && target.Kind() == reflect.Pointer {
		target, addr = target.Elem(), true
	}
	if !sf.IsExported() && !(sf.Anonymous && target.Kind() == reflect.Struct) {
		return candidate{}, nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return candidate{}, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	skipped := outer.skipped || skips(sf)
	if name == "" && sf.Anonymous && target.Kind() == reflect.Struct {
		return candidate{}, &embedded{typ: target, addr: addr, skipped: skipped}, true
	}
	c := candidate{tagged: name != "", field: field{
		name: name, typ: sf.Type, addr: outer.addr, skipped: skipped,
		maybe: slices.Contains(strings.Split(options, ","), "omitzero"),
	}}
	if name == "" {
		c.name = sf.Name
	}
	return c, nil, true
}

// dominant picks the field that encoding/json shows under a name: the least
// deep, and of those the one with a tag, unless several remain.
func dominant(candidates []candidate) (candidate, bool) {
	rank := func(c candidate) int {
		if c.tagged {
			return 2 * c.depth
		}
		return 2*c.depth + 1
	}
	best, alone := candidates[0], true
	for _, c := range candidates[1:] {
		switch {
		case rank(c) < rank(best):
			best, alone = c, true
		case rank(c) == rank(best):
			alone = false
		}
	}
	return best, alone
}

// skips tells whether a field is tagged dedupe:"-".
func skips(sf reflect.StructField) bool { return sf.Tag.Get("dedupe") == "-" }

// validName tells whether encoding/json accepts a name in a tag.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}
