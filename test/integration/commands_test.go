package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A shell runs command lines that use the built Caddy, in a directory of its own. Its Caddy
// commands speak to the Caddy of this process.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	path := filepath.Dir(builtCaddy(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return &shell{t, t.TempDir(), append(os.Environ(), "PATH="+path, "CADDY_ADMIN="+adminAddr)}
}

// run runs a line, which must succeed, and returns what it prints.
func (s *shell) run(line string) string {
	s.t.Helper()
	output, errors, code := s.exec(line)
	if code != 0 || errors != "" {
		s.t.Errorf("%s: exit code %d: %s", line, code, errors)
	}
	return output
}

// exec runs a line.
func (s *shell) exec(line string) (output, errorText string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// The commands change what requests get.
func TestCommandsTakeEffect(t *testing.T) {
	g, s := serve(t, zoneSite("limit 1/1h")), newShell(t)
	g.awaitAdmin()
	g.get("/", alice).admitted(0)
	g.get("/", alice).is(429)
	s.run("echo alice | caddy rate-limit reset user --key-file -")
	g.get("/", alice).admitted(0)
	s.run("caddy rate-limit override add user alice --id more --multiplier 3")
	g.get("/", alice).is(200).has("X-RateLimit-Limit", "3")
	s.run("caddy rate-limit override change more --limit 5/1h")
	g.get("/", alice).is(200).has("X-RateLimit-Limit", "5")
	s.run("caddy rate-limit access deny --zone user alice --id no")
	g.get("/", alice).is(403)
	s.run("caddy rate-limit access remove no")
	g.get("/", alice).is(200)
	s.run("caddy rate-limit rules rollback 1")
	g.get("/", alice).is(429)
}

func TestExitCodesOfCommands(t *testing.T) {
	g, s := serve(t, zoneSite("limit 1/1h")), newShell(t)
	g.awaitAdmin()
	for _, tc := range []struct {
		line  string
		code  int
		error string
	}{
		{"caddy rate-limit status", 0, ""},
		{"caddy rate-limit", 0, ""},
		{"caddy rate-limit override add --help", 0, ""},
		{"caddy rate-limit inspect usr alice", 1, `Error: there is no zone "usr": use one of ["user"]`},
		{"caddy rate-limit override add user alice --limit 50", 1, `Error: limit: "50" is not a rate: use <events>/<window>`},
		{"caddy rate-limit rules rollback 0 --if-match 7", 1, "version 0 is in force, not 7: use"},
		{"caddy rate-limit status --address " + redistest.FreeAddr(), 1, "use --address"},
		{"caddy rate-limit status --address " + g.addr, 1, "use the same version of Caddy"},
		{"caddy rate-limit inspect", 2, "Error: the number of arguments is 0: use caddy rate-limit inspect <zone> [<key>]"},
		{"caddy rate-limit inspect user", 2, "Error: there is no key: use"},
		{"caddy rate-limit override ad", 2, `has no command "ad": use add`},
		{"caddy rate-limit status --jsn", 2, "use caddy rate-limit status --help"},
	} {
		_, errorText, code := s.exec(tc.line)
		lines := strings.Count(errorText, "\n")
		if code != tc.code || !strings.Contains(errorText, tc.error) || lines != min(tc.code, 1) {
			t.Errorf("%s: exit code %d, errors %q; want %d, one line with %q", tc.line, code, errorText, tc.code, tc.error)
		}
	}
}

func TestCompletionOfCommands(t *testing.T) {
	g, s := serve(t, zoneSite("limit 1/1h")), newShell(t)
	g.awaitAdmin()
	for line, want := range map[string]string{
		"caddy __complete rate-limit inspect ''":                       "user\n:4\n",
		"caddy __complete rate-limit override add ''":                  "user\n:4\n",
		"caddy __complete rate-limit access list --zone ''":            "user\n:4\n",
		"caddy __complete rate-limit inspect user ''":                  ":4\n",
		"CADDY_ADMIN=localhost:1 caddy __complete rate-limit reset ''": ":4\n",
	} {
		if output, _, code := s.exec(line); output != want || code != 0 {
			t.Errorf("%s: exit code %d, %q, want %q", line, code, output, want)
		}
	}
}

// The commands find an admin endpoint as other commands of Caddy do, even one on a Unix socket.
func TestCommandsOnUnixSocket(t *testing.T) {
	s := newShell(t)
	g := &gateway{t: t, addr: redistest.FreeAddr()}
	socket := filepath.Join(home, "admin.sock") // sockets need a short path
	text := fmt.Sprintf("{\n\tadmin unix/%s\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\tstorage file_system %s\n}\n"+
		"http://:%s {\n%s\n}\n", socket, s.dir, redistest.Port(g.addr), zoneSite("limit 5/1h"))
	if err := os.WriteFile(filepath.Join(s.dir, "Caddyfile"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	caddy := exec.Command(builtCaddy(t), "run")
	caddy.Dir, caddy.Stdout, caddy.Stderr = s.dir, &output, &output
	if err := caddy.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- caddy.Wait() }()
	t.Cleanup(func() { _ = caddy.Process.Kill() })
	g.awaitListener(exited, &output) // the site listens after the admin endpoint does
	for _, flag := range []string{"--address unix/" + socket, "--config Caddyfile", "-c Caddyfile -a caddyfile"} {
		output, errorText, code := s.exec("caddy rate-limit reset user alice --json " + flag)
		if code != 0 || !strings.HasPrefix(output, `{"version":`) {
			t.Errorf("reset with %s: exit code %d, %s, %s", flag, code, output, errorText)
		}
	}
	s.run("caddy stop --address unix/" + socket + " 2>/dev/null")
	select {
	case <-exited:
	case <-time.After(20 * time.Second):
		t.Error("caddy run has not ended after caddy stop")
	}
}
