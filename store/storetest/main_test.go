package storetest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(faultVar) != "" {
		os.Exit(m.Run()) // tests that fail leave their goroutines behind
	}
	goleak.VerifyTestMain(m)
}
