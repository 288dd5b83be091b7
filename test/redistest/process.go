package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// oldest is the oldest major version of Redis that is supported.
const oldest = 7

// binary returns the path of the redis-server that all servers run.
var binary = sync.OnceValues(findBinary)

func findBinary() (path string, err error) {
	const remedy = "use test/redistest/need-redis.sh, which installs it"
	if path, err = exec.LookPath("redis-server"); err != nil {
		return "", fmt.Errorf("redistest: %w: %s", err, remedy)
	}
	printed, err := exec.Command(path, "--version").Output()
	_, version, _ := strings.Cut(string(printed), " v=")
	major := 0
	_, _ = fmt.Sscanf(version, "%d.", &major) // a version that cannot be read is 0, and too old
	if err != nil || major < oldest {
		return "", fmt.Errorf("redistest: %s is not Redis %d.0 or newer (%q, %v): %s", path, oldest, printed, err, remedy)
	}
	return path, nil
}

// A Process is a child of the test binary.
type Process struct {
	*os.Process
	ended chan struct{} // closed when the process has ended
}

// StartProcess runs a command, whose SysProcAttr must be from [ChildAttributes]. Its output is appended to
// the file log in the directory of the command.
//
// One goroutine starts the process and waits for it, on a thread of its own, because ChildAttributes binds
// the process to the thread that starts it.
func StartProcess(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(filepath.Join(cmd.Dir, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()

	cmd.Stdout, cmd.Stderr = out, out
	ended, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process ends by a signal
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &Process{cmd.Process, ended}, nil
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// pause stops the process and returns when it is stopped.
func (p *Process) pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.awaitStopped()
}

func (p *Process) resume() error { return p.Signal(syscall.SIGCONT) }

// End sends a signal that ends the process, and returns when it has ended.
func (p *Process) End(by syscall.Signal) {
	_ = p.Signal(by) // fails if the process has ended
	<-p.ended
}

func (p *Process) kill() { p.End(syscall.SIGKILL) }
