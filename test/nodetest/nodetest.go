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
	binary = filepath.Join(dir, "caddy")
	build := exec.Command("go", "build", "-o", binary, "github.com/fleetlimit/fleetlimit/cmd/caddy")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building Caddy: %w\n%s", err, out)
	}
	return redistest.Run(m), nil
}
