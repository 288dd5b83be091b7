//go:build unix && !linux

package redistest

import "syscall"

// childAttributes sets nothing: other systems do not end a child with its parent.
func childAttributes() *syscall.SysProcAttr { return nil }

// awaitStopped does nothing: elsewhere a signal takes no longer than the call that sends it.
func (p *process) awaitStopped() error { return nil }
