package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) {
	if workerMain() {
		return
	}
	// Tests must not find a database that somebody cares about.
	_ = os.Unsetenv("DATABASE_URL")
	goleak.VerifyTestMain(devservertest.StopAfter(localpgtest.StopAfter(m)))
}
