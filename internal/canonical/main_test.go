package canonical_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requireForm returns the form of arguments.
func requireForm(t require.TestingT, mode canonical.Mode, args ...any) string {
	got, err := canonical.Append(nil, args, mode)
	require.NoError(t, err)
	return string(got)
}

// requireProblem returns the error of arguments that have no form.
func requireProblem(t *testing.T, mode canonical.Mode, args ...any) *canonical.Error {
	t.Helper()
	got, err := canonical.Append([]byte("before"), args, mode)
	require.Equal(t, "before", string(got))
	var problem *canonical.Error
	require.ErrorAs(t, err, &problem)
	return problem
}

// requireJSON returns the form of a JSON text.
func requireJSON(t require.TestingT, mode canonical.Mode, text string) string {
	got, err := canonical.JSON(nil, []byte(text), mode)
	require.NoError(t, err)
	return string(got)
}
