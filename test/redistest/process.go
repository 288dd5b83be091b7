package redistest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// A process is a child of the test binary.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once the process is gone
}

// startProcess starts a program in a directory; what it prints is appended to the file at log.
//
// One goroutine starts the process, waits for its end and has a thread to itself: what ends a process together with
// its parent (see childAttributes) does so together with the thread that started it.
func startProcess(program, dir, log string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()

	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, out, out, childAttributes()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // all processes here end by a signal
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop halts the process until it is continued. It runs no more when stop returns.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	p.awaitStopped()
	return nil
}

// resume lets the process run again.
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// kill ends the process, be it stopped or running, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // which fails when it is gone already
	<-p.ended
}
