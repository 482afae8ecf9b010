package childtest

import (
	"os"
	"testing"
)

// RequireServicesVar is the environment variable that, set to 1, forbids tests to
// skip for want of a service. CI=true does the same.
const RequireServicesVar = "DEDUPE_REQUIRE_SERVICES"

// SkipOrFail ends the test: it skips it, with the reason, or fails it when CI is
// "true" or DEDUPE_REQUIRE_SERVICES is "1".
func SkipOrFail(t testing.TB, missing error) {
	t.Helper()
	if Required() {
		t.Fatalf("%v\n(not skipped, because CI=true or %s=1)", missing, RequireServicesVar)
	}
	t.Skipf("%v\n(set %s=1 to fail instead of skipping)", missing, RequireServicesVar)
}

// Required reports whether a missing service fails tests.
func Required() bool {
	return os.Getenv("CI") == "true" || os.Getenv(RequireServicesVar) == "1"
}
