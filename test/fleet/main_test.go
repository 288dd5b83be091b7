// Package fleet tests nodes that share their counts in Redis. Each is a process of the built Caddy,
// with real Redis servers.
package fleet

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

func TestMain(m *testing.M) { redistest.Exit(run(m)) }

// run builds Caddy and runs the tests.
func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "fleet")
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
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/caddy").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building Caddy: %w\n%s", err, out)
	}
	return redistest.Run(m), nil
}
