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

// policy says what packages may import. It is a statement of the architecture: when it is in the way, the design is to
// be talked about, not this table to be changed.
//
// Rules are by import path; a pattern that ends in /... also stands for what is below. A package keeps to every rule
// whose packages match it.
var policy = []struct {
	packages string
	except   []string // packages the rule is not for
	allow    []string // when set, nothing else of what is not in the standard library may be imported
	forbid   []string
	reason   string
}{
	{
		packages: module + "/limiter",
		allow:    []string{},
		reason:   "the core is arithmetic: it must be usable, and testable, without anything else",
	}, {
		packages: module + "/limiter/...",
		except:   []string{module + "/limiter/redisstore"},
		allow:    []string{module + "/limiter/..."},
		reason:   "stores and their tests build on the core alone, so that each can be lifted out",
	}, {
		packages: module + "/limiter/table",
		allow:    []string{},
		reason:   "a table knows neither limits nor stores: what is unsafe in it must be testable by itself",
	}, {
		packages: module + "/lua",
		allow:    []string{module + "/limiter"},
		reason:   "scripts are text: what runs them is the business of others",
	}, {
		packages: module + "/redisconn",
		allow:    []string{"github.com/redis/go-redis/v9/..."},
		reason:   "the way to Redis knows no limits: it must be testable, and understandable, by its four promises alone",
	}, {
		packages: module + "/limiter/redisstore",
		allow:    []string{module + "/limiter", module + "/lua", module + "/redisconn", "github.com/redis/go-redis/v9"},
		reason:   "the store on Redis is what joins the core, the scripts and the way to Redis",
	}, {
		packages: module + "/membership",
		allow:    []string{module + "/lua", module + "/redisconn", "github.com/redis/go-redis/v9"},
		reason:   "nodes tell each other what they are, not what they count",
	}, {
		packages: module + "/...",
		except:   []string{module, module + "/internal/...", module + "/cmd/...", module + "/test/..."},
		forbid: []string{
			"github.com/caddyserver/...", "github.com/prometheus/...", "go.uber.org/zap/...", module,
		},
		reason: "adapters point inwards: only the root package and its own parts know Caddy, its logger and its metrics",
	}, {
		packages: module + "/internal/...",
		forbid:   []string{module, "github.com/prometheus/...", "go.uber.org/zap/..."},
		reason:   "a part of the adapter needs neither the app nor the handler, and reports through what it returns",
	}, {
		packages: module + "/internal/glob",
		allow:    []string{},
		reason:   "matching texts takes the standard library alone",
	}, {
		packages: module + "/internal/ipset",
		allow:    []string{},
		reason:   "a set of addresses takes the standard library alone",
	}, {
		packages: module,
		allow: []string{
			module + "/internal/...", module + "/limiter/...", module + "/redisconn", module + "/membership",
			"github.com/caddyserver/...", "github.com/prometheus/...", "go.uber.org/zap/...",
			"github.com/dunglas/httpsfv",
		},
		reason: "everything else that it imports becomes part of every Caddy that has this module",
	}, {
		packages: module,
		forbid:   []string{module + "/cmd/...", module + "/test/...", module + "/limiter/storetest"},
		reason:   "what is for commands and tests does not belong into every Caddy that has this module",
	},
}

// testsForbid lists what no test imports.
var testsForbid = map[string]string{
	"github.com/stretchr/testify/...":   "plain testing says got and want as well, without a language of its own",
	"github.com/caddyserver/xcaddy/...": "tests build with the go command; xcaddy.sh is for people",
}

// A goPackage is what go list says of a package.
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

// TestPolicyHasSubjects keeps the table from passing because a package was renamed and no rule is about it any more.
func TestPolicyHasSubjects(t *testing.T) {
	all := packages(t)
	for _, rule := range policy {
		if !slices.ContainsFunc(all, func(p goPackage) bool { return matches(p.ImportPath, rule.packages) }) {
			t.Errorf("no package matches %s, which a rule is about: %s", rule.packages, rule.reason)
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment: say in one what it is for", p.ImportPath)
		}
	}
}

// maxLines is how long a file may get. Most should stay far below: files are cut by ideas.
const maxLines = 450

func TestFilesAreShort(t *testing.T) {
	eachGoFile(t, func(path, text string) {
		if n := strings.Count(text, "\n"); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: cut it where one idea ends", path, n, maxLines)
		}
	})
}

// TestTestsDoNotSleep refuses sleeps on the real clock, which make tests slow and still do not make them reliable.
func TestTestsDoNotSleep(t *testing.T) {
	const sleep = "time" + ".Sleep("
	eachGoFile(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") && strings.Contains(text, sleep) &&
			!strings.Contains(text, `"testing/synctest"`) && !strings.Contains(text, "inBubble(t") {
			t.Errorf("%s sleeps: wait for the event itself, or run in a bubble of testing/synctest (inBubble)", path)
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

// standard reports whether path is in the standard library: only other modules have a dot in their first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// matches reports whether path is what pattern says, which may end in /... as in go list.
func matches(path, pattern string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == pattern
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(path, p) })
}
