package redistest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
)

// childAttributes makes the kernel kill the process when the thread that started it ends, as it
// does when the test binary is killed or panics.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// awaitStopped returns when the process has stopped or ended. A signal takes a moment to reach a
// process on another core.
func (p *process) awaitStopped() error {
	return until(func(context.Context) error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) || !p.running() {
			return nil
		}
		return fmt.Errorf("process %d still runs", p.Pid)
	})
}
