package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNeedNpm runs need-npm.sh with no other programs than those of a row. All but node write down
// their calls.
func TestNeedNpm(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		node18 = "echo v18.20.4"
		node22 = "echo v22.19.0"
		npm    = "mkdir node_modules; touch node_modules/.package-lock.json"
		npmCI  = "npm ci\n"
		// apt-get that installs node with npm, once it has lists.
		aptGet = `case "$*" in *update*) touch "$HERE/lists" ;; *) printf '#!/bin/sh\n` + node22 + `\n' >"$HERE/node"` +
			`; printf '#!/bin/sh\n' >"$HERE/npm"; chmod +x "$HERE/node" "$HERE/npm" ;; esac`
		offers18 = "echo '  Candidate: 18.20.4+dfsg-1'"
		offers22 = "echo '  Candidate: 1:22.19.0+dfsg-1'"
		stale    = `if [ -e "$HERE/lists" ]; then ` + offers22 + `; else echo '  Candidate: (none)'; fi`
		install  = "apt-get -qq -y install --no-install-recommends nodejs\n"
	)
	fails := func(line string) string { return "echo '" + line + "' >&2; exit 1" }
	type programs map[string]string
	tests := []struct {
		name     string
		programs programs
		calls    string // without the options of npm
		prints   string // part of it
		status   int
	}{
		{"all there", programs{"node": node22, "npm": npm}, npmCI, "", 0},
		{"registry out of reach", programs{"node": node22, "npm": fails("npm error code ENOTFOUND")},
			npmCI, "Not checked with the clients from npm: npm cannot reach its registry (ENOTFOUND).\n", 75},
		{"older npm", programs{"node": node22, "npm": fails("npm ERR! code EAI_AGAIN")},
			npmCI, "Not checked with the clients from npm: npm cannot reach its registry (EAI_AGAIN).\n", 75},
		{"another package than the lock file's", programs{"node": node22, "npm": fails("npm error code EINTEGRITY")},
			npmCI, "EINTEGRITY", 1},
		{"too old is left alone", programs{"id": root, "node": node18, "npm": npm, "apt-cache": offers22, "apt-get": aptGet},
			"", "node 18.20.4 is too old", 75},
		{"no package manager", programs{"id": root}, "", "and npm are not installed", 75},
		{"apt-get", programs{"id": root, "apt-cache": offers22, "apt-get": aptGet},
			install, "installing nodejs 22.19.0", 0},
		{"apt-get without lists", programs{"id": root, "apt-cache": stale, "apt-get": aptGet},
			"apt-get -qq -y update\n" + install, "installing nodejs 22.19.0", 0},
		{"apt-get that offers an old one", programs{"id": root, "apt-cache": offers18, "apt-get": aptGet},
			"", "and npm are not installed", 75},
		{"apt-get that fails", programs{"id": root, "apt-cache": offers22, "apt-get": "exit 100"},
			install, "and npm are not installed", 75},
		{"sudo", programs{"id": user, "sudo": `shift; exec "$@"`, "apt-cache": offers22, "apt-get": aptGet},
			"sudo -n env DEBIAN_FRONTEND=noninteractive " + install + install, "installing nodejs 22.19.0", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, body := range tt.programs {
				if name == "npm" || name == "sudo" || name == "apt-get" {
					body = `echo "` + name + ` $*" >>"$HERE/calls"` + "\n" + body
				}
				write(t, dir, name, "#!/bin/sh\n"+body+"\n")
			}
			for _, name := range []string{"dirname", "sed", "sort", "head", "env", "mkdir", "touch", "chmod"} {
				program, err := exec.LookPath(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"need-npm.sh", "package.json", "package-lock.json"} {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				write(t, dir, name, string(text))
			}
			hourAgo := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "package-lock.json"), hourAgo, hourAgo); err != nil {
				t.Fatal(err)
			}
			check := func(status int, prints string) {
				t.Helper()
				cmd := exec.Command("/bin/sh", filepath.Join(dir, "need-npm.sh"))
				cmd.Env = []string{"PATH=" + dir, "HERE=" + dir}
				out, err := cmd.CombinedOutput()
				if got := cmd.ProcessState.ExitCode(); got != status {
					t.Errorf("status = %d (%v), want %d; it prints %s", got, err, status, out)
				}
				if (prints == "" && len(out) > 0) || !strings.Contains(string(out), prints) {
					t.Errorf("it prints %q, want %q", out, prints)
				}
				calls, _ := os.ReadFile(filepath.Join(dir, "calls")) // no file: no calls
				if got := strings.ReplaceAll(string(calls), npmOptions, ""); got != tt.calls {
					t.Errorf("calls:\n%s\nwant:\n%s", got, tt.calls)
				}
			}
			check(tt.status, tt.prints)
			if tt.status == 0 {
				check(0, "") // it installs nothing twice
			}
		})
	}
}

const npmOptions = " --ignore-scripts --no-audit --no-fund --prefer-offline" +
	" --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000"

// write writes a file that may be executed.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
