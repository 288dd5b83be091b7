package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// childAttributes has the kernel kill the process when the thread that started it ends, so also when the test binary is
// killed or panics.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// awaitStopped returns when the process, which was sent a SIGSTOP, has stopped or ended: the signal takes a moment to
// reach a process that runs on another core.
func (p *process) awaitStopped() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		// The state is the first letter after the program's name, which is in parentheses and may have any in it.
		if _, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); err != nil || !ok || state[0] == 'T' {
			return
		}
		select {
		case <-p.ended:
			return
		case <-tick.C:
		}
	}
}
