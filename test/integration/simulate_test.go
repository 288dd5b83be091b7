package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// From the log that a gateway wrote, simulate decides as the gateway decided.
func TestSimulateRepeatsDecisions(t *testing.T) {
	const requests = 400
	for _, algorithm := range []string{"token_bucket", "sliding_window_log", "fixed_window", "sliding_window 4"} {
		g := newGateway(t)
		text := g.caddyfile("", "log\n"+zoneSite("limit 40/1s\nalgorithm "+algorithm))
		g.mustLoad(text)
		rejected := 0
		for i := range requests {
			// Every other request is of a key that stays below its limit.
			if i%2 == 0 {
				g.get("/", fmt.Sprint("X-User: calm", i%40)).is(200)
			} else if g.get("/", "X-User: busy").status == 429 {
				rejected++
			}
		}
		redistest.Eventually(t, "all lines of the log", func() bool { return len(g.logged("handled request")) == requests })
		config := filepath.Join(t.TempDir(), "Caddyfile")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := replayed(t, g.logFile, config).Zone.Agrees; a.Decisions != requests || a.Equal != requests {
			t.Errorf("%s: %d of %d recorded decisions are repeated, want %d", algorithm, a.Equal, a.Decisions, requests)
		}
		var report struct {
			Logs []logs.Summary `json:"logs"`
			sim.Report
		}
		output := newShell(t).run("caddy rate-limit simulate " + g.logFile + " --json --key request.headers.X-User --limit 40/1s,80/1s --algorithm '" + algorithm + "'")
		if err := json.Unmarshal([]byte(output), &report); err != nil {
			t.Fatal(err)
		}
		first := report.Curve[0]
		if report.Logs[0].Requests != requests || first.InForce || first.Limit != report.Limit || rejected == 0 || report.Trace.Keys != 21 {
			t.Fatalf("%s: %d of %d requests rejected, simulated: %+v", algorithm, rejected, requests, report)
		}
		for _, key := range report.Keys {
			if key.Key != "busy" {
				t.Errorf("%s: %s is rejected %d times, and was never", algorithm, key.Key, key.Rejected)
			}
		}
		// An instant in the log is the end of a request. The gateway decided up to a millisecond before.
		if difference := first.RequestsRejected - int64(rejected); difference < -requests/50 || difference > requests/50 {
			t.Errorf("%s: %d requests rejected, simulated: %d", algorithm, rejected, first.RequestsRejected)
		}
	}
}
