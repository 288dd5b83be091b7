//go:build linux

// Package caddy starts the Caddys that benchmarks measure.
package caddy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// patience is how long a Caddy may take to accept connections.
const patience = 2 * time.Minute

// A Process is a running Caddy.
type Process struct {
	Port  int           // on the loopback interface, of the site
	Admin string        // address of the admin endpoint; "" if there is none
	File  string        // path of the Caddyfile
	Took  time.Duration // time from the start until the process accepted connections

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// Start starts a Caddy with these global options and this site. It returns when the Caddy accepts
// connections. It leaves nothing behind outside of dir. If begin is not nil, Start calls it with a
// function that starts the process.
func Start(binary, dir, options, site string, begin func(start func() error) error) (*Process, error) {
	port := redistest.FreePort()
	text := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n%s}\n\nhttp://127.0.0.1:%d {\n%s\n}\n", options, port, site)
	return start(binary, dir, text, &Process{Port: port}, begin)
}

// StartSites is like Start, but the Caddy has an admin endpoint and the sites that the function sites
// returns for a port.
func StartSites(binary, dir, options string, sites func(port int) string) (*Process, error) {
	p := &Process{Port: redistest.FreePort(), Admin: redistest.FreeAddr()}
	text := fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tauto_https off\n\tgrace_period 1s\n%s}\n\n%s",
		p.Admin, options, sites(p.Port))
	return start(binary, dir, text, p, nil)
}

// start starts p with a Caddyfile.
func start(binary, dir, text string, p *Process, begin func(start func() error) error) (*Process, error) {
	port, config := p.Port, filepath.Join(dir, fmt.Sprintf("Caddyfile.%d", p.Port))
	p.File = config
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(config + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := exec.Command(binary, "run", "--adapter", "caddyfile", "--config", config)
	p.cmd, p.ended = cmd, make(chan struct{})
	p.cmd.Stderr = log
	p.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // kills Caddy if this process is interrupted
	began, started := time.Now(), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, because Pdeathsig refers to the end of this thread
		var err error
		if begin != nil {
			err = begin(p.cmd.Start)
		} else {
			err = p.cmd.Start()
		}
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	for deadline := time.After(patience); ; {
		probe, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			p.Took = time.Since(began)
			return p, probe.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond):
			continue
		case <-p.ended:
		case <-deadline:
		}
		p.Stop()
		said, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s does not listen with this configuration: %w\n%s\n%s", binary, err, text, said)
	}
}

// Stop ends the process.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// CPUTime returns the processor time of p. It is the sum over all threads, whose times are in
// nanoseconds: the time of the process is only in hundredths of a second. Go does not end threads, so
// the sum never falls.
func (p *Process) CPUTime() (sum time.Duration, err error) {
	threads, err := procfs.AllThreads(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	for _, t := range threads {
		stat, err := t.Schedstat()
		if err != nil {
			return 0, err
		}
		sum += time.Duration(stat.RunningNanoseconds)
	}
	return sum, nil
}

// Spent returns the processor time that p takes while do runs.
func (p *Process) Spent(do func() error) (time.Duration, error) {
	before, err := p.CPUTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := p.CPUTime()
	return after - before, err
}

// Resident returns the resident memory of p, in bytes.
func (p *Process) Resident() (float64, error) {
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	status, err := proc.NewStatus()
	return float64(status.VmRSS), err
}
