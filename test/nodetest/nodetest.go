// Package nodetest starts nodes for tests. Each is a process of the Caddy that cmd/caddy builds, on
// free loopback ports. Tests that use it need a TestMain, which also closes the shared servers of
// redistest:
//
//	func TestMain(m *testing.M) { nodetest.Main(m) }
package nodetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// binary is the Caddy that the nodes run.
var binary string

// Main builds Caddy, runs the tests of a binary, closes the shared servers, and exits.
func Main(m *testing.M) { redistest.Exit(run(m)) }

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "nodetest")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Setenv(name, dir); err != nil {
			return 1, err
		}
	}
	if binary, err = Build(dir); err != nil {
		return 1, err
	}
	return redistest.Run(m), nil
}

// Command returns a command of the Caddy that the nodes run.
func Command(args ...string) *exec.Cmd { return exec.Command(binary, args...) }

const module = "github.com/fleetlimit/fleetlimit"

// Build returns the path of the program cmd/caddy. make builds the program once for all tests, and sets
// FLEETLIMIT_CADDY to its path. Without that variable, Build builds the program in dir.
func Build(dir string) (string, error) {
	if made := os.Getenv("FLEETLIMIT_CADDY"); made != "" {
		return made, nil
	}
	return BuildWith(dir)
}

// BuildWith builds the program cmd/caddy in dir, with more arguments for go build.
func BuildWith(dir string, args ...string) (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", module, err)
	}
	bin := filepath.Join(dir, "bin") + string(filepath.Separator) // not dir/caddy, which Caddy's storage may be
	build := exec.Command("go", slices.Concat([]string{"build", "-o", bin}, args, []string{"./cmd/caddy"})...)
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building Caddy: %w\n%s", err, out)
	}
	return bin + "caddy", nil
}
