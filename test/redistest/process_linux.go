package redistest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
)

// ChildAttributes makes the kernel send a signal to the process when the thread that started it
// ends, as it does when the test binary is killed or panics.
func ChildAttributes(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: atEnd}
}

// awaitStopped returns when the process has stopped or ended. A signal takes a moment to reach a
// process on another core.
func (p *Process) awaitStopped() error {
	return until(func(context.Context) error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) || !p.Running() {
			return nil
		}
		return fmt.Errorf("process %d still runs", p.Pid)
	})
}
