package workflows

import (
	"reflect"
	"runtime"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// functionOf is the full name of the function that a local activity was called with.
// Its type is the last part of that name only, which functions of several packages and
// types have in common, and need not be registered. It is empty for one that was called
// by the name it is registered under. Two receivers of one method have one name. So have
// instances of one generic type, which are told apart by their signature.
//
// The SDK tells its own interceptor, which comes last, in the context. A release that
// tells it elsewhere leaves the type alone to go by, as a test notices.
func functionOf(ctx workflow.Context) string {
	local := reflect.ValueOf(ctx.Value("localActivityFn"))
	if local.Kind() != reflect.Pointer || local.IsNil() || local.Elem().Kind() != reflect.Struct {
		return ""
	}
	fn := local.Elem().FieldByName("fn")
	if fn.Kind() != reflect.Interface || fn.Elem().Kind() != reflect.Func || fn.Elem().IsNil() {
		return ""
	}
	name := runtime.FuncForPC(fn.Elem().Pointer()).Name()
	if strings.Contains(name, "[...]") {
		name += " " + fn.Elem().Type().String()
	}
	return name
}
