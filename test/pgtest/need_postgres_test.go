package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/scripttest"
)

// Each row runs need-postgres.sh with only the programs of the row. Package managers and sudo record their
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
			system := t.TempDir()
			tt.programs["initdb17"], tt.programs["postgres17"] = "", version("17.1")
			m := scripttest.New(t, []string{"sed", "env", "true", "touch", "mkdir", "cp", "rm", "sh"}, tt.programs)
			m.CheckNeeds("need-postgres.sh", tt.fails, "https://www.postgresql.org", tt.prints, tt.calls, "NEED_POSTGRES_ROOT="+system)
			if left, _ := filepath.Glob(system + "/etc/*/*/*"); len(left) > 0 {
				t.Errorf("it leaves %v behind", left)
			}
		})
	}
}

func TestFindPrograms(t *testing.T) {
	for _, tt := range []struct {
		versions map[string]string // the versions by folder
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
			scripttest.Write(t, filepath.Join(dir, folder, "initdb"), "")
			scripttest.Write(t, filepath.Join(dir, folder, "postgres"), "echo 'postgres (PostgreSQL) "+version+"'")
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
