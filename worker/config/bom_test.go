package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

// Editors on Windows begin a file with a byte order mark, and YAML lets them.
func TestFileMayBeginWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("dedupe.yaml", []byte("\ufeffactivities:\r\n  ChargePayment:\r\n    retention: 2h\r\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"ChargePayment"}, c.Activities())

	_, err = config.Parse("dedupe.yaml", []byte("\ufeffactivties: {}\n"))
	require.ErrorContains(t, err, "dedupe.yaml:1:1: activties: no such block")
}
