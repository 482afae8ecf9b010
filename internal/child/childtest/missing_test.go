package childtest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/child/childtest"
)

// Not parallel: it sets environment variables.
func TestRequired(t *testing.T) {
	for name, test := range map[string]struct {
		ci, require string
		want        bool
	}{
		"CI=false may skip":                  {ci: "false"},
		"CI=true may not skip":               {ci: "true", want: true},
		"the variable set to 1 forbids it":   {require: "1", want: true},
		"without any of them tests may skip": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CI", test.ci)
			t.Setenv(childtest.RequireServicesVar, test.require)
			require.Equal(t, test.want, childtest.Required())
		})
	}

	t.Run("a missing service skips the test", func(t *testing.T) {
		t.Setenv("CI", "")
		t.Setenv(childtest.RequireServicesVar, "")
		childtest.SkipOrFail(t, errors.New("this skip is what the test is about"))
		t.Error("the test went on")
	})
}
