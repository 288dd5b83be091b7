package monitoring

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	root       = "../.."
	alertsFile = root + "/deploy/prometheus/alerts.yml"
)

// A ruleFile is a file of rules of Prometheus.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

// A rule is an alert or a recording rule.
type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// pending returns for how long the expression must be true before the alert fires.
func (r *rule) pending() time.Duration {
	d, _ := time.ParseDuration(r.For) // without for, the alert fires at once
	return d
}

// readRules returns the rules of deploy/prometheus, and the alerts by name.
func readRules(t *testing.T) (text string, alerts map[string]*rule) {
	t.Helper()
	content, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file ruleFile
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	alerts = make(map[string]*rule)
	for _, g := range file.Groups {
		for i := range g.Rules {
			if name := g.Rules[i].Alert; name != "" {
				alerts[name] = &g.Rules[i]
			}
		}
	}
	return string(content), alerts
}

// promtool runs promtool, which must succeed.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRulesAreValid(t *testing.T) { promtool(t, "check", "rules", alertsFile) }

// Each phase of a history takes this long: before the cause of the alert, with the cause, and after it.
const phase = 40 // minutes

// A history is a series and its values, minute by minute.
type history struct{ series, values string }

// gauge returns a history with another value while the cause of the alert lasts.
func gauge(series string, calm, cause float64) history {
	return history{series, fmt.Sprintf("%v+0x%d %v+0x%d %[1]v+0x%[2]d", calm, phase-1, cause, phase-1)}
}

// counter returns a history that rises by perSecond events per second while the cause of the alert lasts.
func counter(series string, perSecond float64) history {
	each := 60 * perSecond
	return history{series, fmt.Sprintf("0+0x%d %v+%[2]vx%d %v+0x%d", phase-1, each, phase-1, each*phase, phase-1)}
}

// every returns a history that has a value once in the given number of minutes while the cause lasts, and 0 in
// all other minutes.
func every(series string, value float64, minutes int) history {
	values := make([]string, 3*phase)
	for i := range values {
		values[i] = "0"
		if i >= phase && i < 2*phase && (i-phase)%minutes == 0 {
			values[i] = fmt.Sprint(value)
		}
	}
	return history{series, strings.Join(values, " ")}
}

// briefly returns a history with another value in the first minutes of the cause.
func briefly(series string, value float64, minutes int) history {
	return history{series, fmt.Sprintf("0+0x%d %v+0x%d 0+0x%d", phase-1, value, minutes-1, 3*phase-minutes)}
}

func decisions(instance, outcome, source string) string {
	return fmt.Sprintf(`caddy_rate_limit_decisions_total{instance=%q, zone="user", outcome=%q, source=%q}`,
		instance, outcome, source)
}

// of returns a series of the metric, with more labels.
func of(metric, instance, labels string) string {
	return fmt.Sprintf(`caddy_rate_limit_%s{instance=%q, %s}`, metric, instance, labels)
}

const (
	zone    = `zone="user"`
	store   = `store="redis"`
	primary = store + `, primary="redis:6379"`
)

// alertTests has, for each alert, histories with which it fires, and histories that are just below that.
var alertTests = []struct {
	alert  string
	labels string // the labels of the alert besides job
	fires  [][]history
	below  [][]history
}{
	{"RateLimitRejectionsHigh", zone, [][]history{
		{counter(decisions("a", "rejected", "store"), 5.2), counter(decisions("b", "admitted", "lease"), 94.8)},
		{counter(decisions("a", "rejected", "lease"), .6), counter(decisions("b", "rejected", "store"), .6)},
	}, [][]history{
		{counter(decisions("a", "rejected", "store"), 4.9), counter(decisions("b", "admitted", "lease"), 95.1)},
		{counter(decisions("a", "rejected", "store"), .9), counter(decisions("b", "admitted", "lease"), .9)},
		{counter(decisions("a", "would_reject", "store"), 50), counter(decisions("b", "admitted", "lease"), 50)},
		{counter(strings.Replace(decisions("a", "rejected", "store"), "user", "(emergency)", 1), 50)},
	}},
	{"RateLimitRedisDown", primary,
		[][]history{{gauge(of("breaker_state", "a", primary), 0, 2)}, {gauge(of("breaker_state", "a", primary), 0, 1)}},
		[][]history{{briefly(of("breaker_state", "a", primary), 2, 1)}}},
	{"RateLimitOutage", zone, [][]history{
		{counter(decisions("a", "degraded", "outage"), .1)},
		{counter(decisions("a", "unavailable", "late"), .1)},
		{counter(decisions("a", "rejected", "outage"), .1)},
	}, [][]history{{counter(decisions("a", "rejected", "remembered_denial"), 100)}}},
	{"RateLimitBreakerFlapping", primary,
		[][]history{{every(of("breaker_state", "a", primary), 2, 4)}},
		[][]history{{every(of("breaker_state", "a", primary), 2, 8)}, {gauge(of("breaker_state", "a", primary), 0, 2)}}},
	{"RateLimitRedisSlow", primary, [][]history{{gauge(of("redis_latency_seconds", "a", primary), .0004, .0052),
		gauge(of("redis_latency_seconds", "b", primary), .0004, .0004)}}, [][]history{
		{gauge(of("redis_latency_seconds", "a", primary), .0004, .0049)},
		{every(of("redis_latency_seconds", "a", primary), 10, 3)},
	}},
	{"RateLimitZoneSlow", zone, [][]history{{
		counter(of("zone_store_seconds_bucket", "a", zone+`, le="0.025"`), 9), counter(of("zone_store_seconds_bucket", "a", zone+`, le="+Inf"`), 9),
		counter(of("zone_store_seconds_bucket", "b", zone+`, le="0.025"`), .8), counter(of("zone_store_seconds_bucket", "b", zone+`, le="0.05"`), 1),
		counter(of("zone_store_seconds_bucket", "b", zone+`, le="+Inf"`), 1),
	}}, [][]history{{
		counter(of("zone_store_seconds_bucket", "a", zone+`, le="0.025"`), 9.91), counter(of("zone_store_seconds_bucket", "a", zone+`, le="0.05"`), 10),
		counter(of("zone_store_seconds_bucket", "a", zone+`, le="+Inf"`), 10),
	}}},
	{"RateLimitRedisErrors", primary + `, kind="refused"`, [][]history{
		{counter(of("redis_errors_total", "a", primary+`, kind="refused"`), .06), counter(of("redis_errors_total", "b", primary+`, kind="refused"`), .06)},
	}, [][]history{
		{counter(of("redis_errors_total", "a", primary+`, kind="refused"`), .09), counter(of("redis_errors_total", "a", primary+`, kind="timeout"`), .09)},
	}},
	{"RateLimitRedisMemory", primary, [][]history{
		{gauge(of("redis_memory_bytes", "a", primary), 10, 91), gauge(of("redis_max_memory_bytes", "a", primary), 100, 100)},
	}, [][]history{
		{gauge(of("redis_memory_bytes", "a", primary), 10, 89), gauge(of("redis_max_memory_bytes", "a", primary), 100, 100)},
		{gauge(of("redis_memory_bytes", "a", primary), 10, 1e12), gauge(of("redis_max_memory_bytes", "a", primary), 0, 0)},
	}},
	{"RateLimitRedisEvicts", primary, [][]history{
		{counter(of("redis_evicted_keys_total", "a", primary), .1), counter(of("redis_evicted_keys_total", "b", primary), .1)},
	}, [][]history{{counter(of("redis_evicted_keys_total", "a", primary), 0)}}},
	{"RateLimitReplicaLags", primary,
		[][]history{{gauge(of("redis_replication_lag_bytes", "a", primary), 100, 1.1e7), gauge(of("redis_replication_lag_bytes", "b", primary), 100, 100)}},
		[][]history{{gauge(of("redis_replication_lag_bytes", "a", primary), 100, 9e6)}, {briefly(of("redis_replication_lag_bytes", "a", primary), 1e8, 4)}}},
	{"RateLimitRedisLookupFailing", store,
		[][]history{{gauge(of("redis_lookup_failing", "a", store), 0, 1), gauge(of("redis_lookup_failing", "b", store), 0, 0)}},
		[][]history{{briefly(of("redis_lookup_failing", "a", store), 1, 1)}}},
	{"RateLimitDebtGrows", store,
		[][]history{{{of("outage_debt_events", "a", store), "0+0x39 1+1x39 0+0x39"}}},
		[][]history{{gauge(of("outage_debt_events", "a", store), 0, 100)}, {{of("outage_debt_events", "a", store), "0+0x39 80-2x39 0+0x39"}}}},
	{"RateLimitHotKey", zone, [][]history{
		{gauge(of("hottest_key_per_second", "a", zone), 10, 5100), gauge(of("hottest_key_per_second", "b", zone), 10, 5100)},
	}, [][]history{
		{gauge(of("hottest_key_per_second", "a", zone), 10, 5100), gauge(of("hottest_key_per_second", "b", zone), 10, 4800)},
	}},
	{"RateLimitKeyFlood", zone, [][]history{
		{counter(of("evictions_total", "a", zone), .6), counter(of("overflow_total", "a", zone), .6)},
	}, [][]history{
		{counter(of("evictions_total", "a", zone), .5), counter(of("overflow_total", "a", zone), .4)},
	}},
	{"RateLimitRulesNotPolled", store,
		[][]history{{counter(of("rules_failed_polls_total", "a", store), .1)}},
		[][]history{{counter(of("rules_failed_polls_total", "a", store), 1./60)}}},
	{"RateLimitNodesDisagree", store + ", " + zone,
		[][]history{{gauge(of("differing_nodes", "a", store+", "+zone), 0, 1)}},
		[][]history{{briefly(of("differing_nodes", "a", store+", "+zone), 1, 10)}}},
	{"RateLimitBeforeAuthentication", zone,
		[][]history{{counter(of("before_authentication_total", "a", zone), .01)},
			{{of("before_authentication_total", "a", zone), fmt.Sprintf("_x%d 1+0x%d", 2*phase-5, phase+4)}}}, // one event
		[][]history{{counter(of("before_authentication_total", "a", zone), 0)}}},
	{"RateLimitKeysMissing", zone, [][]history{
		{counter(of("missing_keys_total", "a", zone), 1), counter(decisions("a", "admitted", "lease"), 1)},
		{counter(of("missing_keys_total", "a", zone), 1), counter(decisions("a", "denied", ""), 1)},
		{counter(of("missing_keys_total", "a", zone), 1), counter(decisions("a", "admitted", "lease"), 0)}, // skipped
	}, [][]history{
		{counter(of("missing_keys_total", "a", zone), .97), counter(decisions("a", "admitted", "lease"), 1)},
		{counter(of("missing_keys_total", "a", zone), .9), counter(decisions("a", "admitted", "lease"), .1)}, // skipped
		{counter(of("missing_keys_total", "a", zone), .09), counter(decisions("a", "admitted", "lease"), .09)},
	}},
	{"RateLimitPlaceholderUnprovided", zone,
		[][]history{{{of("unprovided_placeholders", "a", zone), fmt.Sprintf("_x%d 1+0x%d", phase, phase-1)}}}, // then it reloads
		[][]history{{gauge(of("unprovided_placeholders", "a", zone), 0, 0)}}},
	{"RateLimitEmergency", "",
		[][]history{{gauge(of("emergency", "a", `kind="node"`), 0, 1)}},
		[][]history{{briefly(of("emergency", "a", `kind="node"`), 1, 29)}}},
	{"RateLimitDecisionsUnrecorded", `to="postgres"`,
		[][]history{{counter(of("decisions_unrecorded_total", "a", `to="postgres"`), .1), counter(of("decisions_unrecorded_total", "b", `to="postgres"`), 0)}},
		[][]history{{counter(of("decisions_unrecorded_total", "a", `to="postgres"`), 0)},
			{{of("decisions_unrecorded_total", "a", `to="postgres"`), fmt.Sprintf("0+0x%d 100+100x4 500+0x%d", phase-1, 2*phase-6)}}}}, // a burst
}

// TestAlerts has promtool evaluate all rules over histories, minute by minute, each in a job of its own. Each
// alert fires when its cause has lasted for the time in the rule, not before, and is resolved after the
// cause. With the histories below, it never fires.
func TestAlerts(t *testing.T) {
	_, alerts := readRules(t)
	test := ruleTest{Interval: "1m"}
	tested := make(map[string]bool)
	for _, tt := range alertTests {
		tested[tt.alert] = true
		alert := alerts[tt.alert]
		if alert == nil {
			t.Errorf("%s has no alert %s", alertsFile, tt.alert)
			continue
		}
		for i, histories := range tt.fires {
			job := fmt.Sprintf("%s fires %d", tt.alert, i+1)
			labels := fmt.Sprintf("alertname=%q, alertstate=\"firing\", job=%q, severity=%q", tt.alert, job, alert.Labels["severity"])
			if tt.labels != "" {
				labels += ", " + tt.labels
			}
			firing := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", job=%q}`, tt.alert, job)
			test.add(job, histories)
			if d := alert.pending(); d > 0 {
				test.expect(firing, phase+int(d.Minutes())-1, "")
			}
			test.expect(firing, 2*phase-1, "ALERTS{"+labels+"}")
			test.expect(firing, 3*phase-1, "")
		}
		for i, histories := range tt.below {
			job := fmt.Sprintf("%s below %d", tt.alert, i+1)
			test.add(job, histories)
			test.expect(fmt.Sprintf(`count_over_time(ALERTS{alertname=%q, alertstate="firing", job=%q}[3h])`, tt.alert, job), 3*phase-1, "")
		}
	}
	for name := range alerts {
		if !tested[name] {
			t.Errorf("nothing tests the alert %s", name)
		}
	}
	path, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	content, err := yaml.Marshal(ruleTests{[]string{path}, []ruleTest{test}})
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(tests, content, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", tests)
}

// ruleTests is a file of tests for promtool.
type ruleTests struct {
	Files []string   `yaml:"rule_files"`
	Tests []ruleTest `yaml:"tests"`
}

type ruleTest struct {
	Interval string        `yaml:"interval"`
	Inputs   []input       `yaml:"input_series"`
	Expected []expectation `yaml:"promql_expr_test"`
}

type input struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type expectation struct {
	Expr    string   `yaml:"expr"`
	At      string   `yaml:"eval_time"`
	Samples []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// add adds histories, in a job.
func (r *ruleTest) add(job string, histories []history) {
	for _, h := range histories {
		r.Inputs = append(r.Inputs, input{strings.Replace(h.series, "{", fmt.Sprintf("{job=%q, ", job), 1), h.values})
	}
}

// expect adds what the expression must be in a minute: one series with the value 1, or no series.
func (r *ruleTest) expect(expr string, minute int, series string) {
	e := expectation{Expr: expr, At: fmt.Sprintf("%dm", minute)}
	if series != "" {
		e.Samples = []sample{{series, 1}}
	}
	r.Expected = append(r.Expected, e)
}
