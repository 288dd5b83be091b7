package gateway

import (
	"fmt"
	"os"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// TestMain gives the tests a default storage of their own, because the user's may have rules.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fleetlimit")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	caddy.DefaultStorage.Path = dir
	return m.Run()
}
