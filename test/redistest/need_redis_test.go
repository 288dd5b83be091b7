package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeedRedis runs need-redis.sh on machines that have nothing but what the test gives them. Each fake program notes its
// call; get stands for a package manager's success.
func TestNeedRedis(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		get    = `printf '#!/bin/sh\necho "Redis server v=7.2.4 sha=0"\n' >"$HERE/redis-server"; chmod +x "$HERE/redis-server"`
		getOld = `printf '#!/bin/sh\necho "Redis server v=6.0.16 sha=0"\n' >"$HERE/redis-server"; chmod +x "$HERE/redis-server"`
		asked  = "sudo: a password is required"
	)
	apt := func(install string) string { return `case "$*" in *install*) ` + install + ";; esac" }
	aptCall := "apt-get -y install --no-install-recommends redis-server"
	tests := []struct {
		name     string
		programs map[string]string // what each does
		calls    []string          // of package managers and sudo, in order
		says     string            // part of what is printed; none: nothing is
		fails    bool
	}{
		{
			name:     "new enough",
			programs: map[string]string{"id": root, "redis-server": "echo 'Redis server v=7.0.15 sha=0'", "apt-get": get},
		}, {
			name:     "much newer",
			programs: map[string]string{"id": root, "redis-server": "echo 'Valkey server v=10.0.1 sha=0'", "apt-get": get},
		}, {
			name:     "too old is left alone",
			programs: map[string]string{"id": root, "redis-server": "echo 'Redis server v=6.0.16 sha=0'", "apt-get": get},
			says:     "redis-server has version 6.0.16: install", fails: true,
		}, {
			name:     "no package manager",
			programs: map[string]string{"id": root},
			says:     "none is in PATH: install", fails: true,
		}, {
			name:     "not root, and no sudo",
			programs: map[string]string{"id": user, "apt-get": get},
			says:     "none is in PATH: install", fails: true,
		}, {
			name:     "not root, and sudo asks for a password",
			programs: map[string]string{"id": user, "sudo": "echo '" + asked + "' >&2; exit 1", "apt-get": get},
			calls:    []string{"sudo -n true"},
			says:     "none is in PATH: install", fails: true,
		}, {
			name:     "not root, and sudo does not ask",
			programs: map[string]string{"id": user, "sudo": `shift; exec "$@"`, "apt-get": apt(get)},
			calls:    []string{"sudo -n true", "sudo -n env DEBIAN_FRONTEND=noninteractive " + aptCall, aptCall},
			says:     "installed redis-server 7.2.4\n",
		}, {
			name:     "apt-get",
			programs: map[string]string{"id": root, "apt-get": `[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 1; ` + get},
			calls:    []string{aptCall},
			says:     "installed redis-server 7.2.4\n",
		}, {
			name: "apt-get that has no lists yet",
			programs: map[string]string{"id": root, "apt-get": `case "$*" in
				*update*) touch "$HERE/lists" ;;
				*install*) [ -e "$HERE/lists" ] || { echo 'E: Unable to locate package' >&2; exit 100; }; ` + get + `;;
				esac`},
			calls: []string{aptCall, "apt-get -y update", aptCall},
			says:  "installed redis-server 7.2.4\n",
		}, {
			name:     "apt-get that fails",
			programs: map[string]string{"id": root, "apt-get": apt("echo 'E: the disk is full' >&2; exit 100")},
			calls:    []string{aptCall, "apt-get -y update", aptCall},
			says:     "E: the disk is full\nThe tests need redis-server", fails: true,
		}, {
			name:     "apt-get of an old system",
			programs: map[string]string{"id": root, "apt-get": getOld},
			calls:    []string{aptCall},
			says:     "redis-server has version 6.0.16: install", fails: true,
		}, {
			name:     "dnf",
			programs: map[string]string{"id": root, "dnf": get},
			calls:    []string{"dnf install -y redis"},
			says:     "installed redis-server 7.2.4\n",
		}, {
			name:     "apk",
			programs: map[string]string{"id": root, "apk": get},
			calls:    []string{"apk add --no-cache redis"},
			says:     "installed redis-server 7.2.4\n",
		}, {
			name:     "pacman",
			programs: map[string]string{"id": root, "pacman": get},
			calls:    []string{"pacman -S --noconfirm --needed redis"},
			says:     "installed redis-server 7.2.4\n",
		}, {
			name:     "brew, which needs no root",
			programs: map[string]string{"id": user, "brew": get},
			calls:    []string{"brew install redis"},
			says:     "installed redis-server 7.2.4\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, body := range tt.programs {
				if name != "id" && name != "redis-server" {
					body = `echo "` + name + ` $*" >>"$HERE/calls"` + "\n" + body
				}
				script(t, dir, name, body)
			}
			for _, name := range []string{"sed", "env", "true", "touch", "chmod"} {
				real, err := exec.LookPath(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("/bin/sh", "need-redis.sh")
			cmd.Env = []string{"PATH=" + dir, "HERE=" + dir}
			out, err := cmd.CombinedOutput()

			if failed := err != nil; failed != tt.fails {
				t.Errorf("error = %v, want one: %v", err, tt.fails)
			}
			if (tt.says == "" && len(out) > 0) || !strings.Contains(string(out), tt.says) {
				t.Errorf("it says %q, want %q", out, tt.says)
			}
			if tt.fails && !strings.Contains(string(out), "https://packages.redis.io") {
				t.Errorf("it says %q, want a place to get Redis from", out)
			}
			calls, _ := os.ReadFile(filepath.Join(dir, "calls")) // no file: there were none
			if got, want := string(calls), lines(tt.calls); got != want {
				t.Errorf("calls:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// lines returns the texts with a newline after each.
func lines(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(text + "\n")
	}
	return b.String()
}
