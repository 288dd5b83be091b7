package nodetest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A Node is a process of Caddy, which one test uses.
type Node struct {
	t       *testing.T
	Addr    string // the address of its site
	Admin   string // the address of its admin endpoint
	Client  *http.Client
	Storage string // the directory of Caddy's storage
	Binary  string // the program; a test may start another version by Restart
	Config  string // the path of its Caddyfile
	log     string // the path of its log
	process *os.Process
	exited  chan struct{}
}

// Start starts a node and returns when it listens. options is the content of the rate_limit global
// option. site begins its only site, which ends with "respond ok".
func Start(t *testing.T, options, site string) *Node {
	t.Helper()
	dir := t.TempDir()
	n := &Node{
		t: t, Addr: redistest.FreeAddr(), Admin: redistest.FreeAddr(),
		Config: filepath.Join(dir, "Caddyfile"), log: filepath.Join(dir, "log"),
		Client:  &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		Storage: filepath.Join(dir, "caddy"), Binary: binary,
	}
	n.write(options, site)
	n.Restart()
	t.Cleanup(n.Kill)
	return n
}

// Restart starts the node again after Kill, with the same files.
func (n *Node) Restart() {
	n.t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	caddy := exec.Command(n.Binary, "run", "--config", n.Config)
	caddy.Stdout, caddy.Stderr = log, log
	caddy.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Dir(n.Storage)) // as on a machine of its own
	if err := caddy.Start(); err != nil {
		n.t.Fatal(err)
	}
	_ = log.Close()
	exited := make(chan struct{})
	n.process, n.exited = caddy.Process, exited
	go func() {
		_ = caddy.Wait()
		close(exited)
	}()
	n.Await("its listener", func() bool {
		conn, err := net.Dial("tcp", n.Addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// Kill kills the process by SIGKILL and returns when it has ended.
func (n *Node) Kill() {
	n.Client.CloseIdleConnections()
	_ = n.process.Kill() // fails if the process has ended
	<-n.exited
}

// ShutdownDelay is how long a node serves requests after Terminate.
const ShutdownDelay = 2 * time.Second

// Terminate asks the process to shut down, by SIGTERM. AwaitExit waits until it has ended.
func (n *Node) Terminate() { n.signal(syscall.SIGTERM) }

// AwaitExit waits until the process has ended.
func (n *Node) AwaitExit() {
	n.t.Helper()
	n.Await("its end", func() bool {
		select {
		case <-n.exited:
			return true
		default:
			return false
		}
	})
}

// Pause suspends the process, as a virtual machine may be suspended. Connections stay open, and the system
// accepts new ones.
func (n *Node) Pause() { n.signal(syscall.SIGSTOP) }

// Resume has a suspended process go on.
func (n *Node) Resume() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.process.Signal(s); err != nil {
		n.t.Errorf("nodetest: %v to %s: %v", s, n.Addr, err)
	}
}

// StartAll starts nodes with the same configuration.
func StartAll(t *testing.T, size int, options, site string) []*Node {
	t.Helper()
	nodes := make([]*Node, size)
	for i := range nodes {
		nodes[i] = Start(t, options, site)
	}
	return nodes
}

// write writes the node's Caddyfile.
func (n *Node) write(options, site string) {
	n.t.Helper()
	text := fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\tshutdown_delay %v\n"+
		"\trate_limit {\n%s\n\t}\n}\nhttp://:%s {\n%s\n\trespond ok\n}\n", n.Admin, ShutdownDelay, options, redistest.Port(n.Addr), site)
	if err := os.WriteFile(n.Config, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// Reload loads another configuration.
func (n *Node) Reload(options, site string) {
	n.t.Helper()
	if out, err := n.TryReload(options, site); err != nil {
		n.t.Fatalf("reload: %v\n%s", err, out)
	}
}

// TryReload does what Reload does, for a configuration that may be wrong. It returns what the command prints.
func (n *Node) TryReload(options, site string) (out []byte, err error) {
	n.t.Helper()
	n.write(options, site)
	return exec.Command(n.Binary, "reload", "--config", n.Config, "--address", n.Admin).CombinedOutput()
}

// Await polls until done returns true, for 30 seconds at most.
func (n *Node) Await(what string, done func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("waited 30 s for %s; the log is\n%s", what, n.Logged())
		}
	}
}

// Logged returns the log.
func (n *Node) Logged() string {
	n.t.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// PID returns the ID of the node's process.
func (n *Node) PID() int { return n.process.Pid }
