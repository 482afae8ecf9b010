package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devservertest.StopAfter(m)) }
