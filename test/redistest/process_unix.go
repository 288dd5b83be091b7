//go:build unix && !linux

package redistest

import "syscall"

// childAttributes are none: other systems do not end a child with its parent.
func childAttributes() *syscall.SysProcAttr { return nil }

// awaitStopped does nothing: the signal takes no more than the time of a system call.
func (p *process) awaitStopped() {}
