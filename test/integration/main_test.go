// Package integration tests the rate_limit handler from outside: a whole Caddy with real listeners, which
// loads its configuration through the real admin API.
//
// One Caddy runs in the test process, so that the race detector watches the handler. Tests run one at a time.
// Each loads its own configuration, and an empty one when it ends.
package integration

import (
	"fmt"
	"iter"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetlimit/fleetlimit"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

var (
	home      string // a temporary directory
	adminAddr string // of the admin API
)

func TestMain(m *testing.M) { redistest.Exit(run(m)) }

// run runs the tests with a Caddy that has only an admin API at first.
func run(m *testing.M) (code int, err error) {
	if home, err = os.MkdirTemp("", "fleetlimit"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	for _, dir := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		_ = os.Setenv(dir, home)
	}
	adminAddr = redistest.FreeAddr()
	if err := caddy.Load([]byte(emptyConfig()), true); err != nil {
		return 1, err
	}
	code = m.Run()
	if err := caddy.Stop(); err != nil {
		return 1, err
	}
	if left := ownGoroutines(5 * time.Second); left != "" && code == 0 {
		return 1, fmt.Errorf("goroutines left after Caddy has stopped:\n%s", left)
	}
	return code, nil
}

// emptyConfig returns a configuration without servers that logs only errors.
func emptyConfig() string {
	return fmt.Sprintf(`{"admin":{"listen":%q,"config":{"persist":false}},"logging":{"logs":{"default":{"level":"PANIC"}}}}`,
		adminAddr)
}

// ownGoroutines waits until no goroutine runs this module's code. After patience, it returns the stacks of
// the goroutines that still do.
func ownGoroutines(patience time.Duration) string {
	const module, tests = "github.com/fleetlimit/fleetlimit", "github.com/fleetlimit/fleetlimit/test/"
	deadline := time.Now().Add(patience)
	for {
		var own []string
		for stack := range stacks() {
			if strings.Contains(strings.ReplaceAll(stack, tests, ""), module) {
				own = append(own, stack)
			}
		}
		if len(own) == 0 || time.Now().After(deadline) {
			return strings.Join(own, "\n\n")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// awaitStoppedServers waits until the servers of earlier configurations take no more connections. Caddy
// answers a load when it has begun to stop these servers. On a busy machine, they could still serve the next
// request. A server that waits for its last requests has closed its listeners.
func awaitStoppedServers() {
	for {
		stopping := false
		for stack := range stacks() {
			state, _, _ := strings.Cut(stack, "\n")
			waits := strings.Contains(state, "[select") || strings.Contains(state, "[sync.WaitGroup.Wait")
			stopping = stopping || strings.Contains(stack, "caddyhttp.(*App).stop.func") && !waits
		}
		if !stopping {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// stacks returns the stack of each goroutine.
func stacks() iter.Seq[string] {
	buf := make([]byte, 4<<20)
	return strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n")
}
