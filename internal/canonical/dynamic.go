package canonical

import (
	"reflect"
	"strconv"
)

// dynamic looks at the types of the values that stand behind interfaces.
func (e *encoder) dynamic(v reflect.Value, path string) *problem {
	p := place{v.Type(), v.CanAddr()}
	if p.open() {
		if v.IsNil() {
			return nil
		}
		return e.behind(v.Elem(), path)
	}
	if p.encodesItself() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return e.dynamic(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		if plain(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if p := e.dynamic(v.Index(i), path+"["+strconv.Itoa(i)+"]"); p != nil {
				return p
			}
		}
	case reflect.Map:
		if plain(v.Type().Elem()) {
			return nil
		}
		for entries := v.MapRange(); entries.Next(); {
			// Keys are values, which errors do not show.
			if p := e.dynamic(entries.Value(), path+"[]"); p != nil {
				return p
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sf := v.Type().Field(i)
			if plain(sf.Type) || !sf.IsExported() && !sf.Anonymous || sf.Tag.Get("json") == "-" {
				continue
			}
			if p := e.dynamic(v.Field(i), path+"."+sf.Name); p != nil {
				return p
			}
		}
	}
	return nil
}

// behind looks at the value in an interface, whose type is not known before.
func (e *encoder) behind(v reflect.Value, path string) *problem {
	if plain(v.Type()) && v.Type().PkgPath() == "" {
		return nil // it is predeclared, so it has no methods
	}
	s := shapeOf(v.Type())
	if p := s.problems[e.mode]; p != nil {
		return &problem{path: path + ".(" + v.Type().String() + ")" + p.path, reason: p.reason}
	}
	if !s.dynamic {
		return nil
	}
	return e.dynamic(v, path)
}

// plain tells whether values of the type cannot hold interfaces.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return true
	}
	return false
}
