package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/fleetlimit/fleetlimit"

// testsForbid are packages that no test imports, with the reasons.
var testsForbid = map[string]string{
	"github.com/stretchr/testify/...":   "the testing package reports got and want without a language of its own",
	"github.com/caddyserver/xcaddy/...": "tests build with the go command; xcaddy.sh is for people",
}

// A goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir, Doc               string
	Imports, TestImports, XTestImports []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func TestImportPolicy(t *testing.T) {
	for _, p := range packages(t) {
		for _, rule := range policy {
			if !matches(p.ImportPath, rule.packages) || matchesAny(p.ImportPath, rule.except) {
				continue
			}
			for _, imp := range p.Imports {
				refused := rule.allow != nil && !standard(imp) && !matchesAny(imp, rule.allow)
				if refused || matchesAny(imp, rule.forbid) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, rule.reason)
				}
			}
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			for pattern, reason := range testsForbid {
				if matches(imp, pattern) {
					t.Errorf("tests of %s import %s: %s", p.ImportPath, imp, reason)
				}
			}
		}
	}
}

// TestFloors looks for imports of packages of a higher floor.
func TestFloors(t *testing.T) {
	floorOf := func(path string) int {
		return slices.IndexFunc(floors, func(f floor) bool { return matchesAny(path, f.packages) })
	}
	seen := make([]int, len(floors))
	for _, p := range packages(t) {
		own := floorOf(p.ImportPath)
		if own < 0 {
			if !strings.HasPrefix(p.ImportPath, module+"/test") {
				t.Errorf("%s is on no floor: use a room of floors", p.ImportPath)
			}
			continue
		}
		seen[own]++
		for _, imp := range p.Imports {
			if of := floorOf(imp); of >= 0 && of < own {
				t.Errorf("%s imports %s, which is above: %s", p.ImportPath, imp, floors[own].reason)
			}
		}
	}
	if i := slices.Index(seen, 0); i >= 0 {
		t.Errorf("no package is on the floor of %v", floors[i].packages)
	}
}

// TestImportPolicyMatchesPackages finds rules that check nothing, because a package was renamed.
func TestImportPolicyMatchesPackages(t *testing.T) {
	all := packages(t)
	for _, rule := range policy {
		if !slices.ContainsFunc(all, func(p goPackage) bool { return matches(p.ImportPath, rule.packages) }) {
			t.Errorf("no package matches the rule for %s: %s", rule.packages, rule.reason)
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment: use one to describe its purpose", p.ImportPath)
		}
	}
}

// maxLines is the most lines that a file may have. Most files have far fewer, because a file holds one idea.
const maxLines = 450

func TestFilesAreShort(t *testing.T) {
	eachGoFile(t, func(path, text string) {
		if n := strings.Count(text, "\n"); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: use one file for each idea", path, n, maxLines)
		}
	})
}

// TestTestsDoNotSleep refuses sleeps on the real clock, which make tests slow and unreliable.
func TestTestsDoNotSleep(t *testing.T) {
	const sleep = "time" + ".Sleep("
	eachGoFile(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") && strings.Contains(text, sleep) &&
			!strings.Contains(text, `"testing/synctest"`) && !strings.Contains(text, "inBubble(t") {
			t.Errorf("%s sleeps: use the event itself, or a bubble of testing/synctest (inBubble)", path)
		}
	})
}

// packages returns the packages of the module.
func packages(t *testing.T) []goPackage {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

var listPackages = sync.OnceValues(func() (all []goPackage, err error) {
	cmd := exec.Command("go", "list", "-json", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// eachGoFile calls f with the path and the text of every Go file of the module.
func eachGoFile(t *testing.T, f func(path, text string)) {
	t.Helper()
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f(path, string(text))
		}
	}
}

// standard reports whether path is in the standard library: only other modules have a dot in their
// first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// matches reports whether path matches pattern, which may end in /... as in go list.
func matches(path, pattern string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == pattern
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(path, p) })
}
