package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

func TestMain(m *testing.M) {
	// Tests must not find a Redis that somebody cares about.
	_ = os.Unsetenv("REDIS_URL")
	goleak.VerifyTestMain(devservertest.StopAfter(m))
}
