package stores

import (
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestStoreHearsRecalls acquires a store twice, as a reload does. The store subscribes once, and
// unsubscribes when it closes.
func TestStoreHearsRecalls(t *testing.T) {
	server := redistest.NewServer(t)
	target := resolved(t, fmt.Sprintf(`{"addresses": [%q]}`, server.Addr))
	await := func(what string, want int64) {
		t.Helper()
		redistest.Eventually(t, what, func() bool {
			subscribed, err := server.Client().PubSubNumSub(t.Context(), "rl:recall").Result()
			return err == nil && subscribed["rl:recall"] == want
		})
	}
	_, releaseEarlier := Acquire(target, new(observer))
	await("a subscription", 1)
	_, releaseLater := Acquire(target, new(observer))
	releaseEarlier()
	await("the same subscription", 1)
	releaseLater()
	await("the end of the subscription", 0)
	var running strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&running, 1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(running.String(), ".Recalls") {
		t.Errorf("the store still listens after it has closed:\n%s", &running)
	}
}
