package canonical

import (
	"reflect"
	"runtime"
	"time"
)

// loan is a method that an embedded field lends to a struct: it speaks for the
// struct as a whole and knows the fields of its own type only.
type loan struct {
	from   string // path to the field that lends it
	hidden []hiddenField
}

// hiddenField is a field that a lent method does not know.
type hiddenField struct {
	path    string
	index   []int
	skipped bool // tagged dedupe:"-"
}

// Lender is the path to the embedded field that lends a type the method, where
// it hides fields that a lenient form would hold. It is empty where the method is
// the type's own, and where nothing else stands in the type.
func Lender(t reflect.Type, method string) string {
	l := loanOf(t, method)
	for _, f := range l.hidden {
		if !f.skipped {
			return l.from
		}
	}
	return ""
}

// loanOf follows a method of a struct, or of a pointer to one, through embedded
// fields to the type that declares it.
func loanOf(t reflect.Type, method string) (l loan) {
	for index := []int(nil); ; {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || declares(t, method) {
			return l
		}
		lenders := lendersOf(t, method)
		if len(lenders) == 0 {
			return l
		}
		// One lender is followed. Of several it would take Go's rules of depth to
		// tell which it is, and nobody knows what stands behind an interface: all
		// are taken for hidden.
		lender := t.Field(lenders[0])
		known := len(lenders) == 1 && lender.Type.Kind() != reflect.Interface
		for sf := range t.Fields() {
			i := sf.Index[0]
			if sf.Name == "_" || sf.Type.Size() == 0 || known && i == lenders[0] {
				continue
			}
			l.hidden = append(l.hidden, hiddenField{
				path: l.from + "." + sf.Name, index: append(index[:len(index):len(index)], i), skipped: skips(sf),
			})
		}
		l.from += "." + lender.Name
		if !known {
			return l
		}
		t, index = lender.Type, append(index, lenders[0])
	}
}

// lendersOf lists the embedded fields that can lend a struct the method.
func lendersOf(t reflect.Type, method string) (fields []int) {
	for sf := range t.Fields() {
		if !sf.Anonymous {
			continue
		}
		holder := sf.Type
		if holder.Kind() != reflect.Pointer && holder.Kind() != reflect.Interface {
			holder = reflect.PointerTo(holder)
		}
		if _, ok := holder.MethodByName(method); ok {
			fields = append(fields, sf.Index[0])
		}
	}
	return fields
}

// declares tells whether a struct's method is its own. The compiler writes those
// that hand a call on to an embedded field, or from a pointer to its value, and
// such methods stand in no file.
func declares(t reflect.Type, method string) bool {
	m, ok := t.MethodByName(method)
	if !ok {
		// Only here can the pointer's method be one that was written by hand.
		if m, ok = reflect.PointerTo(t).MethodByName(method); !ok {
			return false
		}
	}
	file := fileOf(m)
	return file != "" && file != generated
}

// generated is what stands in place of a file for methods that the compiler
// wrote. A build that hides files makes all methods look like that, so that a
// struct with embedded fields is refused rather than misread.
var generated = func() string {
	m, _ := reflect.TypeFor[struct{ time.Time }]().MethodByName("MarshalJSON")
	return fileOf(m)
}()

// fileOf looks at a method's first instruction, which the compiler never takes
// from a function that it inlines.
func fileOf(m reflect.Method) string {
	f := runtime.FuncForPC(m.Func.Pointer())
	if f == nil {
		return ""
	}
	file, _ := f.FileLine(f.Entry())
	return file
}
