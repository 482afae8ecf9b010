package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requireConfig parses a text that is right.
func requireConfig(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("dedupe.yaml", []byte(text))
	require.NoError(t, err)
	return c
}
