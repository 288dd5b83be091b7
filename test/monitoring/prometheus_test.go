package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A server is a Prometheus that scrapes nodes and evaluates the rules of deploy/prometheus, several
// times a second.
type server struct {
	t    *testing.T
	addr string
}

const (
	scrapeEvery   = 200 * time.Millisecond
	evaluateEvery = 500 * time.Millisecond
)

var (
	ranges  = regexp.MustCompile(`\[\d+m\]`)
	offsets = regexp.MustCompile(`offset \d+m`)
	pending = regexp.MustCompile(`for: \d+m`)
)

// shorten replaces the durations in the rules by shorter ones, so that a test takes seconds. It changes
// nothing else.
func shorten(rules string) string {
	rules = strings.ReplaceAll(rules, "[15m]", "[6s]") // long enough for a breaker to open three times
	rules = offsets.ReplaceAllString(ranges.ReplaceAllString(rules, "[2s]"), "offset 2s")
	return pending.ReplaceAllString(rules, "for: 0s")
}

// evaluation is a rule at the end of the group of the alerts. It shows when the alerts are evaluated.
const evaluation = "\n  - record: evaluation\n    expr: vector(1)\n"

// startPrometheus starts a Prometheus that scrapes the admin endpoints of nodes, by job.
func startPrometheus(t *testing.T, jobs map[string][]*nodetest.Node) *server {
	t.Helper()
	dir := t.TempDir()
	text, _ := readRules(t)
	config := fmt.Sprintf("global:\n  scrape_interval: %v\n  scrape_timeout: %[1]v\n  evaluation_interval: %v\n"+
		"rule_files: [alerts.yml]\nscrape_configs:\n", scrapeEvery, evaluateEvery)
	for job, nodes := range jobs {
		config += "- job_name: " + job + "\n  static_configs:\n"
		for _, n := range nodes {
			config += fmt.Sprintf("  - targets: [%q]\n", n.Admin)
		}
	}
	for name, content := range map[string]string{"prometheus.yml": config, "alerts.yml": shorten(text) + evaluation} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &server{t, redistest.FreeAddr()}
	cmd := exec.Command("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+p.addr)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: use test/monitoring/need-prometheus.sh, which installs it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // an error, because the signal ends it
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Prometheus has logged:\n%s", text)
		}
		_ = log.Close()
	})
	p.await("Prometheus", func() bool {
		resp, err := http.Get("http://" + p.addr + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// await polls until done returns true, for 30 seconds at most.
func (p *server) await(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited 30 s for %s; these fire: %v", what, p.firing())
		}
	}
}

// A series is a series in an answer of Prometheus, with its newest value or with all values of a range.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
	Values [][2]any          `json:"values"`
}

// query returns the series that an expression has now.
func (p *server) query(expr string) (result []series) {
	p.t.Helper()
	resp, err := http.PostForm("http://"+p.addr+"/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          struct{ Result json.RawMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.t.Fatalf("query %s: %v %s", expr, err, answer.Error)
	}
	if err := json.Unmarshal(answer.Data.Result, &result); err != nil {
		p.t.Fatalf("query %s = %s: %v", expr, answer.Data.Result, err)
	}
	return result
}

// instant returns the value of an expression that has one series and whose value is an instant in seconds.
func (p *server) instant(expr string) float64 {
	p.t.Helper()
	found := p.query(expr)
	if len(found) != 1 {
		p.t.Fatalf("query %s = %v, want one series", expr, found)
	}
	v, err := strconv.ParseFloat(found[0].Value[1].(string), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// evaluationsUntil returns how often the alerts were evaluated from the first scrape that shows the
// cause until the alert fires.
func (p *server) evaluationsUntil(alert, cause string) (n int) {
	p.t.Helper()
	first := func(expr string) float64 {
		p.t.Helper()
		return p.instant("min(min_over_time(timestamp(" + expr + ")[5m:100ms]))")
	}
	from, to := first(cause), first(fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, alert))
	for _, at := range p.query("evaluation[5m]")[0].Values {
		if seconds := at[0].(float64); seconds > from && seconds <= to {
			n++
		}
	}
	return n
}

// An alert is what Prometheus sends to people.
type alert struct {
	State               string
	Labels, Annotations map[string]string
}

// firing returns the alerts that fire now.
func (p *server) firing() []alert {
	p.t.Helper()
	resp, err := http.Get("http://" + p.addr + "/api/v1/alerts")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Data struct{ Alerts []alert } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(answer.Data.Alerts, func(a alert) bool { return a.State != "firing" })
}
