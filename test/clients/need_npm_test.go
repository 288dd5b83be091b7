package clients

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/scripttest"
)

// TestNeedNpm runs need-npm.sh with only the programs of a row. All programs except node record their calls.
func TestNeedNpm(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		node18 = "echo v18.20.4"
		node22 = "echo v22.19.0"
		npm    = "mkdir node_modules; touch node_modules/.package-lock.json"
		npmCI  = "npm ci --ignore-scripts --no-audit --no-fund --prefer-offline" +
			" --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000\n"
		// An apt-get that installs node with npm, once it has lists.
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
		calls    string
		prints   string // a part of the output
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
			m := scripttest.New(t, []string{"dirname", "sed", "sort", "head", "env", "mkdir", "touch", "chmod"}, tt.programs)
			for _, name := range []string{"need-npm.sh", "package.json", "package-lock.json"} {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(m.Here, name), text, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			hourAgo := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(m.Here, "package-lock.json"), hourAgo, hourAgo); err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(m.Here, "need-npm.sh")
			m.Check(script, tt.status, tt.prints, tt.calls)
			if tt.status == 0 {
				m.Check(script, 0, "", tt.calls) // it installs nothing twice
			}
		})
	}
}
