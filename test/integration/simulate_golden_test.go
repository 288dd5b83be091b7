package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

var writeLog = flag.Bool("log.write", false, "write the log of a gateway that TestSimulateGolden replays anew")

// recordedSite is a zone with all algorithms, tiers and costs.
const recordedSite = `	log
	route {
		rate_limit {
			zone user {
				key {http.request.header.X-User}
				limit 40/200ms burst 20
				tier {http.request.header.X-Tier} trusted {
					pro 60/200ms
				}
				endpoint /log 12/200ms sliding_window_log
				endpoint /fixed 12/200ms fixed_window
				endpoint /window 12/200ms sliding_window 4
				endpoint /heavy {
					cost 3
				}
			}
		}
		respond ok
	}
`

// A recorded is what simulate says about the recorded log.
type recorded struct {
	Zone struct {
		Limits []sim.ZoneLimitOutcome
		Keys   []sim.ZoneKey
		Agrees sim.Agreement `json:"recorded"`
	}
}

func replayed(t *testing.T, log, config string) (r recorded) {
	t.Helper()
	output, errors, code := newShell(t).exec("caddy rate-limit simulate " + log + " --config " + config + " --adapter caddyfile --zone user --json --top 1000")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errors)
	}
	if err := json.Unmarshal([]byte(output), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSimulateGolden replays a log that a gateway has written. With the instants of the decisions in the log,
// simulate decides every request as the gateway did. Without them, its rejections per minute are off by 0.1 %
// at most, and it rejects no key that the gateway never rejected.
func TestSimulateGolden(t *testing.T) {
	if *writeLog {
		record(t)
	}
	config, err := filepath.Abs("testdata/recorded.Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("testdata/recorded.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "access.log")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	r := replayed(t, file, config)
	lines := int64(bytes.Count(text, []byte("\n")))
	if a := r.Zone.Agrees; a.Decisions != lines || a.Equal != lines || lines < 1000 {
		t.Errorf("%d of %d decisions are repeated, of %d lines, want all", a.Equal, a.Decisions, lines)
	}
	rejected := make(map[string]bool)
	for _, k := range r.Zone.Keys {
		rejected[k.Key] = true
	}
	for _, l := range r.Zone.Limits {
		if l.Requests == 0 || l.RequestsRejected == 0 || l.Tier == "" && l.KeysRejected == l.Keys {
			t.Errorf("%+v: want requests, some rejected, and keys below the limit", l)
		}
	}

	write(regexp.MustCompile(`"at":\d+,`).ReplaceAll(text, nil))
	r = replayed(t, file, config)
	if a := r.Zone.Agrees; a.Decisions != lines || a.OffByMinute*1000 > lines {
		t.Errorf("by the lines' own instants, rejections by minute are off by %d of %d, want at most 0.1 %%", a.OffByMinute, a.Decisions)
	} else {
		t.Logf("%d decisions, %d equal by the lines' own instants, off by %d", a.Decisions, a.Equal, a.OffByMinute)
	}
	for _, k := range r.Zone.Keys {
		if !rejected[k.Key] {
			t.Errorf("%s is rejected %d times by the lines' own instants, and was never", k.Key, k.Rejected)
		}
	}
}

// record writes the log anew.
func record(t *testing.T) {
	const requests = 4000
	g := newGateway(t)
	g.mustLoad(g.caddyfile("", recordedSite))
	paths := []string{"/", "/log", "/fixed", "/window", "/heavy"}
	for i := range requests {
		headers := []string{fmt.Sprint("X-User: calm", i/20%40)}
		switch i % 4 {
		case 0, 1:
			headers[0] = "X-User: busy"
		case 2:
			headers = []string{"X-User: big", "X-Tier: pro"}
		}
		g.get(paths[i/4%len(paths)], headers...)
	}
	redistest.Eventually(t, "all lines of the log", func() bool { return len(g.logged("handled request")) == requests })
	text, err := os.ReadFile(g.logFile)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Join(regexp.MustCompile(`(?m)^.*"handled request".*\n`).FindAll(text, -1), nil)
	text = regexp.MustCompile(`,?"(User-Agent|Accept-Encoding|resp_headers|remote_port)":("[^"]*"|\[[^\]]*\]|\{[^}]*\})`).ReplaceAll(text, nil)
	text = bytes.ReplaceAll(text, []byte(`"headers":{,`), []byte(`"headers":{`))
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level exists
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"recorded.log.gz": packed.Bytes(), "recorded.Caddyfile": []byte("http://:8080 {\n" + recordedSite + "}\n"),
	} {
		if err := os.WriteFile(filepath.Join("testdata", name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
