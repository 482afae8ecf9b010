//go:build unix

package child

import "syscall"

// sysProcAttr puts the child into a process group of its own, so that Ctrl-C at
// a terminal reaches the parent alone, and the group can be killed as one.
func sysProcAttr(u *User) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if u != nil {
		attr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID}
	}
	setDeathSignal(attr)
	return attr, nil
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
