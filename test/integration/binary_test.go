package integration

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// cmd/caddy works as users use it: build, validate, run, reload, stop.
func TestBuiltCaddy(t *testing.T) {
	dir, binary := t.TempDir(), builtCaddy(t)
	modules := command(t, binary, "list-modules")
	for _, id := range []string{"admin.api.rate_limit", "http.handlers.rate_limit", "http.handlers.rate_limit_health", "http.handlers.rate_limit_page", "rate_limit"} {
		if !strings.Contains(modules, "\n"+id+"\n") {
			t.Errorf("list-modules does not list %s:\n%s", id, modules)
		}
	}

	admin, config := redistest.FreeAddr(), filepath.Join(dir, "Caddyfile")
	g := &gateway{t: t, addr: redistest.FreeAddr(), client: newClient()}
	write := func(limit string) {
		t.Helper()
		text := fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n}\nhttp://:%s {\n%s\n}\n",
			admin, redistest.Port(g.addr), zoneSite("limit "+limit))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("5/1h")
	command(t, binary, "validate", "--config", config)
	rewritten := filepath.Join(dir, "Rewritten")
	text := ":80 {\ntry_files {path} /index.php\n" + userZone("endpoint POST /login 5/15m", "") + "respond ok\n}\n"
	if err := os.WriteFile(rewritten, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said := command(t, binary, "validate", "--adapter", "caddyfile", "--config", rewritten)
	if !strings.Contains(said, "endpoint POST /login may miss requests to /login") {
		t.Errorf("validate does not warn about a rewritten path: %s", said)
	}

	var output bytes.Buffer
	caddy := exec.Command(binary, "run", "--config", config)
	caddy.Stdout, caddy.Stderr = &output, &output
	if err := caddy.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- caddy.Wait() }()
	t.Cleanup(func() { _ = caddy.Process.Kill() })

	g.awaitListener(exited, &output)
	g.get("/", alice).admitted(4)
	g.get("/", alice).admitted(3)
	g.addr = redistest.FreeAddr() // at the old address, requests may still reach the old configuration
	write("10/1h")
	command(t, binary, "reload", "--config", config, "--address", admin)
	g.get("/", alice).admitted(7).has("X-RateLimit-Limit", "10")
	write("0/1h")
	if text, err := exec.Command(binary, "reload", "--config", config, "--address", admin).CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "block") {
		t.Errorf("reload with limit 0/1h = %v, %s; want an error with block", err, text)
	}
	g.get("/", alice).admitted(6)
	g.client.CloseIdleConnections()

	f := follow(t, g.client, admin, "for=10m", "")
	command(t, binary, "stop", "--address", admin)
	f.ends("reload")
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("caddy run ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("caddy run has not ended after caddy stop")
	}
	if text := output.String(); strings.Contains(text, `"level":"error"`) && !strings.Contains(text, "block") ||
		strings.Contains(text, "panic") {
		t.Errorf("caddy logged errors:\n%s", text)
	}
}

// build builds Caddy in a directory of its own, because home has a directory called caddy, with Caddy's data.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(home, "bin")
	if err != nil {
		return "", err
	}
	return nodetest.Build(dir)
})

// builtCaddy returns the path of the program cmd/caddy.
func builtCaddy(t *testing.T) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// command runs a command, which must succeed, and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return "\n" + string(out)
}

// awaitListener waits until something listens at the gateway's address.
func (g *gateway) awaitListener(exited <-chan error, output *bytes.Buffer) {
	g.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", g.addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-exited:
			g.t.Fatalf("caddy run ended with %v:\n%s", err, output)
		case <-time.After(20 * time.Millisecond):
		}
	}
	g.t.Fatalf("nothing listens on %s", g.addr)
}
