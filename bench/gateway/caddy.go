//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// A lab starts Caddys and measures them.
type lab struct {
	options
	dir  string // for their files
	pins affinity

	redis   string // address of the Redis that some Caddys count in
	started int    // number of these Caddys: each has its own key prefix
}

// A caddy is a running Caddy with one site.
type caddy struct {
	cmd  *exec.Cmd
	port int
}

// start starts a Caddy whose only site has the given directives, and returns when it accepts
// connections.
func (l *lab) start(v *variant, site string) (*caddy, error) {
	binary, options := v.binary, ""
	if v.redis {
		options = fmt.Sprintf("\trate_limit {\n\t\tredis {\n\t\t\taddress %s\n\t\t\tkey_prefix rl%d\n\t\t}\n\t}\n", l.redis, l.started)
		l.started++
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(l.dir, fmt.Sprintf("Caddyfile.%d", port))
	text := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n%s}\n\nhttp://127.0.0.1:%d {\n%s\n}\n", options, port, site)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if out, err := l.command(binary, "validate", config).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s rejects this configuration: %w\n%s\n%s", binary, err, text, out)
	}

	c := &caddy{cmd: l.command(binary, "run", config), port: port}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // Caddy dies with an interrupted run
	if err := l.pins.onCaddysCPUs(c.cmd.Start); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		probe, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return c, probe.Close()
		}
		if time.Now().After(deadline) {
			c.stop()
			return nil, fmt.Errorf("%s does not listen after 20 seconds: %w", binary, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// command returns a Caddy command that leaves nothing behind outside l.dir. Its log goes nowhere.
func (l *lab) command(binary, name, config string) *exec.Cmd {
	cmd := exec.Command(binary, name, "--adapter", "caddyfile", "--config", config)
	cmd.Env = append(os.Environ(), "HOME="+l.dir, "XDG_DATA_HOME="+l.dir, "XDG_CONFIG_HOME="+l.dir)
	return cmd
}

func (c *caddy) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// cpuTime returns the processor time of c. It is the sum over the threads, which is exact to the
// nanosecond; the count of the process has hundredths of a second. Go's threads do not end, so the
// sum never falls.
func (c *caddy) cpuTime() (sum time.Duration, err error) {
	threads, err := procfs.AllThreads(c.cmd.Process.Pid)
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

// resident returns the memory that c has in RAM, in bytes.
func (c *caddy) resident() (float64, error) {
	p, err := procfs.NewProc(c.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return float64(status.VmRSS), err
}
