package child

import "syscall"

// setDeathSignal has the kernel tell supervise.sh that its parent is gone.
func setDeathSignal(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGUSR2 }
