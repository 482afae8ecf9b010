package localpg_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

// parentVar makes this test binary start a cluster, print its URL, and wait to
// be killed.
const parentVar = "LOCALPG_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVar) != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(localpgtest.StopAfter(m))
}

func parent() {
	c, err := localpg.Start(context.Background(), localpg.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.URL())
	select {}
}
