//go:build !unix

package devserver

import (
	"context"
	"errors"
	"runtime"
)

func lock(context.Context, string) (func(), error) {
	return nil, errors.New("devserver: a server is not built on " + runtime.GOOS + "; " + remedy)
}
