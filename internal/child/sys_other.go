//go:build !unix

package child

import (
	"errors"
	"runtime"
	"syscall"
)

func sysProcAttr(*User) (*syscall.SysProcAttr, error) {
	return nil, errors.New("child: needs /bin/sh and Unix signals, which " + runtime.GOOS + " does not have")
}

func killGroup(int) {}
