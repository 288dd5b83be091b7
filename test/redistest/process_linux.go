package redistest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
)

// ChildAttributes has the kernel send a signal to the process when the thread that started it ends. The
// thread also ends when the test binary is killed or panics.
func ChildAttributes(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: atEnd}
}

// awaitStopped waits until the process has stopped or ended. A signal takes a moment to reach a process on
// another core.
func (p *Process) awaitStopped() error {
	return until(func(context.Context) error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) || !p.Running() {
			return nil
		}
		return fmt.Errorf("process %d still runs", p.Pid)
	})
}
