package devserver_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

// parentVar makes this test binary start a server, print its address, and wait
// to be killed.
const parentVar = "DEVSERVER_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVar) != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(devservertest.StopAfter(m))
}

func parent() {
	s, err := devserver.Start(context.Background(), devserver.Options{Log: io.Discard})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Address())
	select {}
}
