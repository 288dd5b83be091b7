//go:build unix && !linux

package redistest

import "syscall"

// childAttributes sets nothing: other systems cannot kill a child with its parent.
func childAttributes() *syscall.SysProcAttr { return nil }

// awaitStopped does nothing: on other systems a signal arrives before the call returns.
func (p *process) awaitStopped() error { return nil }
