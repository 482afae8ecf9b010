//go:build unix && !linux

package child

import "syscall"

// setDeathSignal does nothing where the kernel has no such signal: the pipe that
// supervise.sh reads tells it all the same.
func setDeathSignal(*syscall.SysProcAttr) {}
