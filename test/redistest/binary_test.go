package redistest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	tests := []struct {
		printed, version string
		major            int
	}{
		{"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0", "7.0.15", 7},
		{"Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=a3fdef44459b3ad6", "6.0.16", 6},
		{"Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0", "8.1.1", 8},
		{"Redis server v=10.2.0 sha=00000000:0", "10.2.0", 10},
		{"something else", "unknown", 0},
		{"", "unknown", 0},
	}
	for _, tt := range tests {
		if version, major := parseVersion(tt.printed); version != tt.version || major != tt.major {
			t.Errorf("parseVersion(%q) = %q, %d, want %q, %d", tt.printed, version, major, tt.version, tt.major)
		}
	}
}

func TestFindBinary(t *testing.T) {
	tests := []struct {
		name, script string // no script: there is no redis-server
		problem      string // part of the error; none: it is found
	}{
		{name: "missing", problem: "redis-server 7.0 or newer is not in PATH"},
		{name: "too old", script: "echo 'Redis server v=6.0.16 sha=0'", problem: "has version 6.0.16, and 7.0 or newer is needed"},
		{name: "broken", script: "exit 1", problem: "--version: exit status 1"},
		{name: "new enough", script: "echo 'Redis server v=7.0.0 sha=0'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.script != "" {
				script(t, dir, "redis-server", tt.script)
			}
			t.Setenv("PATH", dir)
			path, err := findBinary()
			if tt.problem == "" {
				if want := filepath.Join(dir, "redis-server"); err != nil || path != want {
					t.Errorf("findBinary() = %q, %v, want %q", path, err, want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("findBinary() = %q, %v, want an error with %q", path, err, tt.problem)
			}
		})
	}
}

// script writes a program into a directory.
func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
