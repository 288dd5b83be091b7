package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each row runs need-prometheus.sh with its programs only. Package managers and sudo record their
// calls, and apt-get whether Debian's packages may start a server.
func TestNeedPrometheusScript(t *testing.T) {
	const (
		root = "echo 0"
		user = "echo 1000"
		get  = `for p in prometheus promtool; do cp "$HERE/$p-new" "$HERE/$p"; done`
		apt  = `case "$*" in *update*) ;; *) "$NEED_PROMETHEUS_POLICY" && echo "starts a server" >>"$HERE/calls"; ` + get + `; esac`
		call = "apt-get -y install --no-install-recommends prometheus\n"
	)
	version := func(program, v string) string { return "echo '" + program + ", version " + v + " (branch: x)'" }
	type programs map[string]string
	for _, tt := range []struct {
		name     string
		programs programs
		calls    string
		prints   string // a part of the output, which has "https://prometheus.io" if the script fails
		fails    bool
	}{
		{"new enough", programs{"id": root, "prometheus": version("prometheus", "3.5.0"), "promtool": version("promtool", "2.42.0+ds")}, "", "", false},
		{"too old is left alone", programs{"id": root, "prometheus": version("prometheus", "2.41.0"), "promtool": version("promtool", "2.53.0"),
			"apt-get": apt}, "", "have version 2.41.0", true},
		{"without promtool", programs{"id": root, "prometheus": version("prometheus", "2.53.0"), "apt-get": apt}, call,
			"installed prometheus 2.53.0", false},
		{"no package manager", programs{"id": root}, "", "not both in PATH", true},
		{"neither root nor sudo", programs{"id": user, "apt-get": apt}, "", "not both in PATH", true},
		{"apt-get that fails", programs{"id": root, "apt-get": "echo 'E: the disk is full' >&2; exit 100"},
			call + "apt-get -y update\n", "E: the disk is full\nThe tests need prometheus", true},
		{"dnf by sudo", programs{"id": user, "sudo": `shift; exec "$@"`, "dnf": get},
			"sudo -n true\nsudo -n dnf install -y golang-github-prometheus\ndnf install -y golang-github-prometheus\n",
			"installed prometheus 2.53.0", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, body := range tt.programs {
				if name == "apt-get" || name == "dnf" || name == "sudo" {
					body = `echo "` + name + ` $*" >>"$HERE/calls"` + "\n" + body
				}
				program(t, dir, name, body)
			}
			for _, name := range []string{"prometheus", "promtool"} {
				program(t, dir, name+"-new", version(name, "2.53.0"))
			}
			for _, name := range []string{"sed", "env", "true", "cp", "rm", "sh", "sort", "head", "chmod"} {
				real, err := exec.LookPath(name)
				if err == nil {
					err = os.Symlink(real, filepath.Join(dir, name))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			policy := filepath.Join(dir, "policy-rc.d")
			cmd := exec.Command("/bin/sh", "need-prometheus.sh")
			cmd.Env = []string{"PATH=" + dir, "HERE=" + dir, "NEED_PROMETHEUS_POLICY=" + policy}
			out, err := cmd.CombinedOutput()
			helps := strings.Contains(string(out), "https://prometheus.io")
			if (err != nil) != tt.fails || helps != tt.fails {
				t.Errorf("error = %v, want one with a place to get Prometheus from: %v\n%s", err, tt.fails, out)
			}
			if (tt.prints == "" && len(out) > 0) || !strings.Contains(string(out), tt.prints) {
				t.Errorf("it prints %q, want %q", out, tt.prints)
			}
			if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != tt.calls { // no file: no calls
				t.Errorf("calls:\n%s\nwant:\n%s", calls, tt.calls)
			}
			if _, err := os.Stat(policy); err == nil {
				t.Error("it leaves its policy behind")
			}
		})
	}
}

// program writes a program into a directory.
func program(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
