package childtest

import (
	"fmt"
	"os"
)

// M is the part of *testing.M that TestMain needs.
type M interface {
	// Run runs the tests and returns the exit code.
	Run() int
}

// StopAfter returns an M that runs the tests and then stops what they share, so that
// its goroutines are gone before goleak looks:
//
//	func TestMain(m *testing.M) {
//		goleak.VerifyTestMain(localpgtest.StopAfter(m))
//	}
func StopAfter(m M, stop func() error) M { return stopAfter{m, stop} }

type stopAfter struct {
	m    M
	stop func() error
}

func (s stopAfter) Run() int {
	code := s.m.Run()
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
