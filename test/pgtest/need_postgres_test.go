package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each row runs need-postgres.sh with its programs only. Package managers and sudo record their
// calls.
func TestNeedPostgresScript(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		get    = `dir=$NEED_POSTGRES_ROOT/usr/lib/postgresql/17/bin; mkdir -p "$dir"; cp "$HERE/initdb17" "$dir/initdb"; cp "$HERE/postgres17" "$dir/postgres"`
		aptGet = `[ -e "$NEED_POSTGRES_ROOT/etc/postgresql-common/createcluster.d/fleetlimit.conf" ] || echo "makes a cluster" >>"$HERE/calls"` +
			"\n" + `case "$*" in *update*) touch "$HERE/lists" ;; *) [ -e "$HERE/lists" ] || exit 100; ` + get + `; esac`
		install = "apt-get -y install --no-install-recommends postgresql\n"
	)
	version := func(v string) string { return "echo 'postgres (PostgreSQL) " + v + "'" }
	type programs map[string]string
	tests := []struct {
		name     string
		programs programs
		calls    string
		prints   string // a part of the output, which has "https://www.postgresql.org" if the script fails
		fails    bool
	}{
		{"new enough", programs{"id": root, "initdb": "", "postgres": version("14.2"), "apt-get": get}, "", "", false},
		{"too old is left alone", programs{"id": root, "initdb": "", "postgres": version("13.9"), "apt-get": get},
			"", "has version 13", true},
		{"no package manager", programs{"id": root}, "", "there is none", true},
		{"without initdb", programs{"id": root, "postgres": version("17.0")}, "", "there is none", true},
		{"neither root nor sudo", programs{"id": user, "apt-get": aptGet}, "", "there is none", true},
		{"sudo", programs{"id": user, "sudo": `shift; exec "$@"`, "dnf": get},
			"sudo -n true\nsudo -n dnf install -y postgresql-server\ndnf install -y postgresql-server\n",
			"installed the server of PostgreSQL 17", false},
		{"apt-get without lists", programs{"id": root, "apt-get": aptGet},
			install + "apt-get -y update\n" + install, "installed the server of PostgreSQL 17", false},
		{"apt-get that fails", programs{"id": root, "apt-get": "echo 'E: the disk is full' >&2; exit 100"},
			install + "apt-get -y update\n", "E: the disk is full\nThe tests need the server of PostgreSQL", true},
		{"brew needs no root", programs{"id": user, "brew": get},
			"brew install postgresql\n", "installed the server of PostgreSQL 17", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, system := t.TempDir(), t.TempDir()
			tt.programs["initdb17"], tt.programs["postgres17"] = "", version("17.1")
			for name, body := range tt.programs {
				if name == "apt-get" || name == "dnf" || name == "brew" || name == "sudo" {
					body = `echo "` + name + ` $*" >>"$HERE/calls"` + "\n" + body
				}
				script(t, dir, name, body)
			}
			for _, name := range []string{"sed", "env", "true", "touch", "mkdir", "cp", "rm", "sh"} {
				real, err := exec.LookPath(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("/bin/sh", "need-postgres.sh")
			cmd.Env = []string{"PATH=" + dir, "HERE=" + dir, "NEED_POSTGRES_ROOT=" + system}
			out, err := cmd.CombinedOutput()
			helps := strings.Contains(string(out), "https://www.postgresql.org")
			if (err != nil) != tt.fails || helps != tt.fails {
				t.Errorf("error = %v, want one with a place to get PostgreSQL from: %v", err, tt.fails)
			}
			if (tt.prints == "" && len(out) > 0) || !strings.Contains(string(out), tt.prints) {
				t.Errorf("it prints %q, want %q", out, tt.prints)
			}
			if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != tt.calls { // no file: no calls
				t.Errorf("calls:\n%s\nwant:\n%s", calls, tt.calls)
			}
			if left, _ := filepath.Glob(system + "/etc/*/*/*"); len(left) > 0 {
				t.Errorf("it leaves %v behind", left)
			}
		})
	}
}

func TestFindPrograms(t *testing.T) {
	for _, tt := range []struct {
		versions map[string]string // by the folder
		want     string            // the folder, or a part of the error
	}{
		{nil, "use test/pgtest/need-postgres.sh"},
		{map[string]string{"path": "13.1"}, "is version 13 in "},
		{map[string]string{"path": "14.1"}, "path"},
		{map[string]string{"path": "16.1", "lib/15": "15.3", "lib/17": "17.0"}, "lib/17"},
		{map[string]string{"path": "nonsense", "lib/15": "15.3"}, "lib/15"},
	} {
		dir := t.TempDir()
		for folder, version := range tt.versions {
			if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
				t.Fatal(err)
			}
			script(t, filepath.Join(dir, folder), "initdb", "")
			script(t, filepath.Join(dir, folder), "postgres", "echo 'postgres (PostgreSQL) "+version+"'")
		}
		got, err := findPrograms(filepath.Join(dir, "path"), []string{filepath.Join(dir, "lib", "*")})
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: error = %v, want %s", tt.versions, err, tt.want)
			}
		} else if got != filepath.Join(dir, tt.want) {
			t.Errorf("%v: found in %s, want %s", tt.versions, got, tt.want)
		}
	}
}

// script writes a program into a directory.
func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
