package redistest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/scripttest"
)

// Each row runs need-redis.sh with only the programs of the row. Package managers and sudo record their
// calls.
func TestNeedRedisScript(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		redis6 = "echo 'Redis server v=6.0.16 sha=0'"
		redis7 = "echo 'Redis server v=7.2.4 sha=0'"
		get    = `printf '#!/bin/sh\necho "Redis v=7.2.4"\n' >"$HERE/redis-server"; chmod +x "$HERE/redis-server"`
		stale  = `case "$*" in *update*) touch "$HERE/lists" ;; *) [ -e "$HERE/lists" ] || exit 100; ` + get + `; esac`
		aptGet = "apt-get -y install --no-install-recommends redis-server\n"
	)
	type programs map[string]string
	tests := []struct {
		name     string
		programs programs
		calls    string
		prints   string // a part of the output, which has "https://packages.redis.io" if the script fails
		fails    bool
	}{
		{"new enough", programs{"id": root, "redis-server": redis7, "apt-get": get}, "", "", false},
		{"too old is left alone", programs{"id": root, "redis-server": redis6, "apt-get": get},
			"", "has version 6.0.16", true},
		{"no package manager", programs{"id": root}, "", "none is in PATH", true},
		{"neither root nor sudo", programs{"id": user, "apt-get": get}, "", "none is in PATH", true},
		{"sudo", programs{"id": user, "sudo": `shift; exec "$@"`, "dnf": get},
			"sudo -n true\nsudo -n dnf install -y redis\ndnf install -y redis\n", "installed redis-server 7.2.4", false},
		{"apt-get without lists", programs{"id": root, "apt-get": stale},
			aptGet + "apt-get -y update\n" + aptGet, "installed redis-server 7.2.4", false},
		{"apt-get that fails", programs{"id": root, "apt-get": "echo 'E: the disk is full' >&2; exit 100"},
			aptGet + "apt-get -y update\n", "E: the disk is full\nThe tests need redis-server", true},
		{"apk", programs{"id": root, "apk": get}, "apk add --no-cache redis\n", "installed redis-server 7.2.4", false},
		{"brew needs no root", programs{"id": user, "brew": get},
			"brew install redis\n", "installed redis-server 7.2.4", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := scripttest.New(t, []string{"sed", "env", "true", "touch", "chmod"}, tt.programs)
			m.CheckNeeds("need-redis.sh", tt.fails, "https://packages.redis.io", tt.prints, tt.calls)
		})
	}
}

// The other tests cover a valid redis-server.
func TestFindBinaryChecksVersion(t *testing.T) {
	for version, problem := range map[string]string{
		"":                                    "not found in $PATH: use test/redistest/need-redis.sh",
		"echo hello":                          "is not Redis 7.0 or newer",
		"exit 1":                              "is not Redis 7.0 or newer",
		"echo 'Redis server v=6.0.16 sha=0'":  "is not Redis 7.0 or newer",
		"echo 'Valkey server v=10.1.1 sha=0'": "%!s(<nil>)",
	} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		if version != "" {
			scripttest.Write(t, filepath.Join(dir, "redis-server"), version)
		}
		if _, err := findBinary(); !strings.Contains(fmt.Sprintf("%s", err), problem) {
			t.Errorf("redis-server %q: error = %v, want %q in it", version, err, problem)
		}
	}
}
