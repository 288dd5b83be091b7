//go:build unix && !linux

package redistest

import "syscall"

// ChildAttributes sets nothing: other systems cannot end a child with its parent.
func ChildAttributes(syscall.Signal) *syscall.SysProcAttr { return new(syscall.SysProcAttr) }

// awaitStopped does nothing: on other systems a signal arrives before the call returns.
func (p *Process) awaitStopped() error { return nil }
