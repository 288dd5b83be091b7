// Package scripttest runs the scripts that install what tests need, on a machine that has only the programs
// that a test gives it.
package scripttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Machine is a folder of programs, $HERE, with all programs that a script can run.
type Machine struct {
	t    *testing.T
	Here string
}

// installers are the programs that change a system. They record their calls.
var installers = []string{"apt-get", "dnf", "apk", "brew", "npm", "sudo"}

// New returns a machine that has some of the programs of this machine, and other programs by name. Each of
// the others is the body of a shell script.
func New(t *testing.T, real []string, others map[string]string) *Machine {
	t.Helper()
	m := &Machine{t, t.TempDir()}
	for _, name := range real {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(m.Here, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range others {
		if slices.Contains(installers, name) {
			body = `echo "` + name + ` $*" >>"$HERE/calls"` + "\n" + body
		}
		Write(t, filepath.Join(m.Here, name), body)
	}
	return m
}

// Write writes a program whose shell script has this body.
func Write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Check runs a script with more environment variables. It checks the exit status and the calls of installers.
// It checks that the output contains prints, or is empty if prints is "". It returns the output.
func (m *Machine) Check(script string, status int, prints, calls string, env ...string) (printed string) {
	m.t.Helper()
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = append(env, "PATH="+m.Here, "HERE="+m.Here)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		m.t.Errorf("status = %d (%v), want %d; it prints %s", got, err, status, out)
	}
	if (prints == "" && len(out) > 0) || !strings.Contains(string(out), prints) {
		m.t.Errorf("it prints %q, want %q", out, prints)
	}
	if got, _ := os.ReadFile(filepath.Join(m.Here, "calls")); string(got) != calls { // without the file, there were no calls
		m.t.Errorf("calls:\n%s\nwant:\n%s", got, calls)
	}
	return string(out)
}

// CheckNeeds does what Check does. If fails is true, the script must end with status 1 and say where to get
// what it needs. If fails is false, it must do neither.
func (m *Machine) CheckNeeds(script string, fails bool, where, prints, calls string, env ...string) {
	m.t.Helper()
	status := 0
	if fails {
		status = 1
	}
	printed := m.Check(script, status, prints, calls, env...)
	if helps := strings.Contains(printed, where); helps != fails {
		m.t.Errorf("it prints %s: want %s in it: %v", printed, where, fails)
	}
}
