package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/sim"
)

// simulate runs the command on a log with this text.
func simulate(t *testing.T, log string, args ...string) commandRun {
	t.Helper()
	file := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	return runCommand(t, log, "", append([]string{"simulate", file}, args...)...)
}

const simulated = "ts,client,cost\n1700000000,a,1\n1700000000,a,1\n1700000001,a,1\n1700000002,b,1\n1700000003,a,1\n"

func TestSimulate(t *testing.T) {
	flags := []string{"--time", "ts", "--duration", "0", "--key", "client"}
	ran := simulate(t, simulated, append(flags, "--limit", "2/1m,5/1m", "--algorithm", "sliding_window_log")...)
	const want = `
span      2023-11-14T22:13:20Z  2023-11-14T22:13:23Z
requests  5
keys      2  by client

LIMIT  NOTE       KEYS REJECTED  OF ALL  REQUESTS REJECTED  OF ALL
2/1m   looked at  1              50 %    2                  40 %
5/1m   -          0              0 %     0                  0 %

rejected by minute, at most 2: █
worst minute: 2023-11-14T22:13:00Z, 2 of 5 requests rejected

KEY  REQUESTS  REJECTED  FIRST                 LAST                  LONGEST  LEAST LIMIT
a    4         2         2023-11-14T22:13:21Z  2023-11-14T22:13:23Z  2s       4

4/1m is the least limit that rejects at most 1 % of the keys
4/1m is the least limit that rejects at most 0.1 % of the keys
4/1m is the least limit that rejects at most 0.01 % of the keys
4/1m is the least limit that rejects no key

Recommended, as it rejects one of 2 keys, which needs most; for the Caddyfile:
limit 1/1m
`
	_, report, _ := strings.Cut(ran.output, "\n")
	if ran.err != nil || report != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, report, want)
	}
	ran = simulate(t, simulated, append(flags, "--limit", "2/1m", "--json")...)
	var answer sim.Report
	if err := json.Unmarshal([]byte(ran.output), &answer); err != nil || answer.Trace.Requests != 5 {
		t.Errorf("JSON: %v, %+v, want 5 requests", err, answer.Trace)
	}
}

// TestSimulatePage checks that the page has the figures of the JSON.
func TestSimulatePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	ran := simulate(t, simulated, "--time", "ts", "--duration", "0", "--key", "client", "--limit", "2/1m", "--json", "--html", file)
	page, err := os.ReadFile(file)
	if err != nil || ran.err != nil {
		t.Fatal(err, ran.err)
	}
	var figures bytes.Buffer
	if err := json.Compact(&figures, []byte(ran.output)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, figures.Bytes()) {
		t.Errorf("the page lacks the figures %s", &figures)
	}
}

// TestSimulateFleet has a fleet of one node. It decides as one counter does, because no other node
// has leases.
func TestSimulateFleet(t *testing.T) {
	flags := []string{"--time", "ts", "--duration", "0", "--key", "client", "--limit", "2/1m"}
	ran := simulate(t, simulated, append(flags, "--nodes", "1", "--spread", "sticky", "--json")...)
	var answer struct{ Fleet fleetReport }
	if err := json.Unmarshal([]byte(ran.output), &answer); err != nil || len(answer.Fleet.Outcomes) != 3 {
		t.Fatalf("%v, %v, output %s, want outcomes of three faults", err, ran.err, ran.output)
	}
	o := answer.Fleet.Outcomes[0]
	if o.Admitted != 3 || o.Rejected != 2 || o.OverAdmitted != 0 || o.FalselyRejected != 0 {
		t.Errorf("without a fault: %+v, want 3 admitted and 2 rejected, as by one counter", o)
	}
	ran = simulate(t, simulated, append(flags, "--nodes", "3")...)
	if !strings.Contains(ran.output, "3 nodes, round trip 1ms, spread even, beside one counter") {
		t.Errorf("%v, output %s, want the fleet", ran.err, ran.output)
	}
}

func TestSimulateBounds(t *testing.T) {
	flags := []string{"--time", "ts", "--duration", "0", "--key", "client", "--limit", "2/1m"}
	for _, test := range []struct{ bound, want string }{
		{"rejected_keys > 49%", "rejected_keys > 49% (it is 1 of 2, 50 %)"},
		{"rejected_keys > 50%", ""},
		{"rejected_requests>39.9%", "rejected_requests>39.9% (it is 2 of 5, 40 %)"},
		{" rejected_requests > 40 % ", ""},
		{"rejected_keys > 0", "rejected_keys > 0 (it is 1)"},
		{"rejected_keys > 1", ""},
		{"rejected_keys > 1 or worst_minute > 1", "worst_minute > 1 (it is 2)"},
		{"rejected_keys > 0 or worst_minute > 1", "rejected_keys > 0 (it is 1) and worst_minute > 1 (it is 2)"},
		{"worst_minute > 40%", ""},
	} {
		ran, got := simulate(t, simulated, append(flags, "--fail-if", test.bound)...), ""
		if ran.err != nil {
			got = strings.TrimPrefix(ran.err.Error(), "2/1m fails --fail-if: ")
		}
		if got != test.want || ran.output == "" {
			t.Errorf("%s: error = %q, want %q, output %q", test.bound, got, test.want, ran.output)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	const combined = `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5`
	for _, test := range []struct {
		log, args, want string
	}{
		{simulated, "", "there is no limit: use --limit"},
		{simulated, "--limit 100", `"100" is not a rate: use`},
		{simulated, "--limit 1/1m,block", "block rejects nobody or all: use a rate"},
		{simulated, "--limit 1/1m --algorithm leaky", `algorithm is "leaky": use token_bucket`},
		{simulated, "--limit 1/1m --fail-if much", `--fail-if: "much": there is no >: use a bound such as`},
		{simulated, "--limit 1/1m --fail-if keys>1", `no figure "keys": use one of rejected_keys, rejected_requests, worst_minute`},
		{simulated, "--limit 1/1m --fail-if rejected_keys>NaN%", `"NaN%" is not a number: use one such as 100, or`},
		{simulated, "--limit 1/1m --fail-if rejected_keys>100%", "100 % is never exceeded: use less than 100%"},
		{simulated, "--limit 1/1m --nodes 1001", "--nodes: there are 1001 nodes: use 1 to 1000"},
		{simulated, "--limit 1/1m --nodes 2 --rtt 2s", "--rtt: 2s is no round trip to a store: use 0s to 1s"},
		{simulated, "--limit 1/1m --nodes 2 --spread odd", `--spread: "odd" is no spread: use even, sticky or zipf`},
		{simulated, "--limit 1/1m --from yesterday", `"yesterday" is not an instant: use one such as`},
		{simulated, "--limit 1/1m --format xml", `no format "xml": use json`},
		{simulated, "--limit 1/1m --time when", `no column "when": use one of ts, client, cost`},
		{simulated, "--limit 1/1m --time ts --duration 0 --key client --from 2030-01-01T00:00:00Z", "no requests in this span"},
		{`{"ts":1}`, "--limit 1/1m", "none of 1 lines has the field of the key, the client's address: use --key"},
		{`{"ts":1}`, "--limit 1/1m --key request.headers.x-api-key", "of one that they have, such as request.headers.X-Api-Key"},
		{"{\"ts\":1,\"request\":{\"client_ip\":\"a\"}}\n{", "--limit 1/1m", "1 of 2 lines cannot be read, the first at line 2"},
		{combined, "--limit 1/1s", "a window of 1s means nothing: use a limit with a window of 5s or more"},
		{combined, "--limit 1/1m --key cookie", `has no "cookie": use address or user`},
		{"", "--limit 1/1m", "the log is empty"},
		{"hello", "--limit 1/1m", "of no known format"},
	} {
		if ran := simulate(t, test.log, strings.Fields(test.args)...); ran.err == nil || !strings.Contains(ran.err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %s", test.args, ran.err, test.want)
		}
	}
	if ran := runCommand(t, "", "", "simulate", "nowhere.log", "--limit", "1/1m"); !errors.Is(ran.err, os.ErrNotExist) {
		t.Errorf("error = %v, want %v", ran.err, os.ErrNotExist)
	}
}

func TestSimulateStandardInput(t *testing.T) {
	ran := runCommand(t, simulated, "", "simulate", "-", "--limit", "2/1m", "--time", "ts", "--duration", "0", "--key", "client")
	if ran.err != nil || !strings.Contains(ran.output, "5 requests in 6 lines") {
		t.Errorf("%v, output %s, want 5 requests", ran.err, ran.output)
	}
}

func TestProgress(t *testing.T) {
	p := &progress{size: &meter{whole: 200}, requests: 1000}
	p.size.read.Store(50)
	if got, want := p.line(2*time.Second), "[#####...............] 25 %, 6s left, 1000 requests, 500 a second"; got != want {
		t.Errorf("progress = %q, want %q", got, want)
	}
}

// The keys that are listed are said to be some of the rejected ones.
func TestSimulateListsSomeKeys(t *testing.T) {
	ran := simulate(t, simulated+"1700000003,b,1\n1700000004,b,1\n", "--time", "ts", "--duration", "0", "--key", "client", "--limit", "2/1m",
		"--algorithm", "sliding_window_log", "--top", "1")
	if ran.err != nil || !strings.Contains(ran.output, "\n1 of 2 rejected keys: use --top for more\n") {
		t.Errorf("%v, output\n%s, want one of 2 rejected keys", ran.err, ran.output)
	}
}
