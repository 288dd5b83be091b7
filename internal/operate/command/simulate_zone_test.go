package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
)

// zoneConfig returns the name of a file with a zone of three limits.
func zoneConfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "caddy.json")
	const config = `{"apps":{"http":{"servers":{"srv0":{"routes":[{"handle":[{"handler":"rate_limit","rate_limits":{"user":{
		"key":"{http.request.header.X-Api-Key}","limit":"2/1m","tier":{"placeholder":"{http.request.header.X-Tier}","trusted":true,"tiers":{"pro":"3/1m"}},
		"endpoints":[{"path":"/closed","limit":"block"}]}}}]}]}}}}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// zoneLog has the requests of three keys: one of tier pro, and one of a closed endpoint.
func zoneLog() string {
	var log strings.Builder
	for _, who := range []struct {
		requests  int
		uri, tier string
	}{{4, "/a", ""}, {5, "/b", "pro"}, {1, "/closed", ""}} {
		for range who.requests {
			log.WriteString(`{"ts":1700000000,"duration":0,"status":200,"request":{"client_ip":"192.0.2.1","method":"GET","uri":"` + who.uri +
				`","headers":{"X-Api-Key":["key of ` + who.uri + `"],"X-Tier":["` + who.tier + `"]}}}` + "\n")
		}
	}
	return log.String()
}

func TestSimulateZone(t *testing.T) {
	config := zoneConfig(t)
	ran := simulate(t, zoneLog(), "--config", config, "--zone", "user", "--limit", "4/1m,auto")
	const want = `
zone user, as it is configured
ENDPOINT  TIER  LIMIT  NOTE             REQUESTS  REJECTED  KEYS  REJECTED
-         -     2/1m   -                4         2         1     1
-         pro   3/1m   looked at below  5         2         1     1
/closed   -     block  -                1         1         1     1
/closed   pro   block  -                0         0         0     0

KEY             ENDPOINT  TIER  REQUESTS  REJECTED  FIRST                 LAST
key of /a       -         -     4         2         2023-11-14T22:13:20Z  2023-11-14T22:13:20Z
key of /b       -         pro   5         2         2023-11-14T22:13:20Z  2023-11-14T22:13:20Z
key of /closed  /closed   -     1         1         2023-11-14T22:13:20Z  2023-11-14T22:13:20Z

span      2023-11-14T22:13:20Z  2023-11-14T22:13:20Z
requests  5
keys      1  by the key of zone user

LIMIT  NOTE      KEYS REJECTED  OF ALL  REQUESTS REJECTED  OF ALL
1/1m   -         1              100 %   4                  80 %
2/1m   -         1              100 %   3                  60 %
3/1m   in force  1              100 %   2                  40 %
4/1m   -         1              100 %   1                  20 %
5/1m   -         0              0 %     0                  0 %
`
	if ran.err != nil || !strings.Contains(ran.output, want) || !strings.HasSuffix(ran.output, "\n\nNo limit is recommended. Of few keys, it would reject the one that needs most: there is none here.\n") {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
	ran = simulate(t, zoneLog(), "--config", config, "--zone", "user", "--tier", "", "--json", "--nodes", "2")
	var answer struct {
		sim.Report
		Caddyfile string
		Fleet     fleetReport
	}
	if err := json.Unmarshal([]byte(ran.output), &answer); err != nil || answer.Limit.Events != 2 || answer.Trace.Requests != 4 ||
		answer.Caddyfile != "" || answer.Fleet.Outcomes[0].Admitted+answer.Fleet.Outcomes[0].Rejected != 4 {
		t.Errorf("%v, %v, output %s, want the limit 2/1m, 4 requests, and nothing recommended of one key", err, ran.err, ran.output)
	}
}

func TestSimulateZoneRefuses(t *testing.T) {
	config := zoneConfig(t)
	const combined = `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5`
	for _, test := range []struct {
		log, want string
		args      []string
	}{
		{zoneLog(), "--tier is about a zone: use it with --zone", []string{"--limit", "1/1m", "--tier", "pro"}},
		{zoneLog(), "--config is about a zone: use it with --zone", []string{"--limit", "1/1m", "--config", config}},
		{zoneLog(), "--key does not go with --zone: use it with --limit", []string{"--zone", "user", "--config", config, "--key", "x"}},
		{zoneLog(), `has no zone "usr": use one of user`, []string{"--zone", "usr", "--config", config}},
		{zoneLog(), `zone "user" has no limit of its own there: use --endpoint "/closed", or --endpoint "/closed" --tier pro, or neither of both, or --tier pro`,
			[]string{"--zone", "user", "--config", config, "--tier", "gold"}},
		{zoneLog(), "a limit that blocks rejects all: use --endpoint or --tier of a limit with a rate",
			[]string{"--zone", "user", "--config", config, "--endpoint", "/closed"}},
		{zoneLog(), `--field: "x" has no field: use one such as`, []string{"--zone", "user", "--config", config, "--field", "x"}},
		{zoneLog(), "none of 10 lines has rate_limit.zone, which --recorded needs", []string{"--zone", "user", "--config", config, "--recorded"}},
		{zoneLog(), "nothing that clients do: use open, retry-after or hammer", []string{"--zone", "user", "--config", config, "--clients", "polite"}},
		{zoneLog(), `--algorithms: algorithm is "x": use`, []string{"--limit", "1/1m", "--algorithms", "x"}},
		{zoneLog(), "--limit: auto is around another limit: use one before it", []string{"--limit", "auto"}},
		{combined, "the combined log format has no request.headers.X-Api-Key, which {http.request.header.X-Api-Key} needs",
			[]string{"--zone", "user", "--config", config}},
		{zoneLog(), "there is both a log and --traffic: use one of them", []string{"--traffic", "poisson", "--limit", "1/1m"}},
	} {
		if ran := simulate(t, test.log, test.args...); ran.err == nil || !strings.Contains(ran.err.Error(), test.want) {
			t.Errorf("%q: error = %v, want %s", test.args, ran.err, test.want)
		}
	}
	for want, args := range map[string][]string{
		"there is no log: use the name of one, or --traffic":                  {"--limit", "1/1m"},
		"--from and --to are about logs: use for= in --traffic":               {"--limit", "1/1m", "--traffic", "poisson", "--from", "2030-01-01T00:00:00Z"},
		`--traffic: "odd" is no shape of traffic: use`:                        {"--limit", "1/1m", "--traffic", "odd"},
		"there is no limit: use --limit, such as --limit 100/1m, or --config": {"--traffic", "poisson"},
	} {
		if ran := runCommand(t, "", "", append([]string{"simulate"}, args...)...); ran.err == nil || !strings.Contains(ran.err.Error(), want) {
			t.Errorf("%q: error = %v, want %s", args, ran.err, want)
		}
	}
}

// TestSimulateTraffic makes the same report of the same text.
func TestSimulateTraffic(t *testing.T) {
	args := []string{"simulate", "--traffic", "flash rate=5/s for=10m keys=50", "--limit", "30/1m", "--clients", "retry-after"}
	first, second := runCommand(t, "", "", args...), runCommand(t, "", "", args...)
	if first.err != nil || first.output != second.output ||
		!strings.Contains(first.output, "made up  flash rate=5/s for=10m0s keys=50 skew=1.1 seed=1") ||
		!strings.Contains(first.output, "clients that are rejected: retry-after") || !strings.Contains(first.output, "sent again under 30/1m: ") {
		t.Errorf("%v, output\n%s\nand\n%s, want the same, with the parameters", first.err, first.output, second.output)
	}
}
