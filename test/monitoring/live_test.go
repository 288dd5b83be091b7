package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// manyZones are zones in a dry run, which decide requests without rejecting them. With them, one request has
// many decisions to record.
var manyZones = func() (zones string) {
	for i := range 100 {
		zones += fmt.Sprintf("\t\tzone many%d {\n\t\t\tkey all\n\t\t\tlimit block\n\t\t\tdry_run\n\t\t}\n", i)
	}
	return zones
}()

// aloneSite has zones that are counted in memory: one in which keys find no room, one that reads a user
// before authentication, one whose key no request has, one whose key nothing provides, one that rejects, one
// whose requests count for many events, two with doubtful requests, and a hundred dry runs. The password is
// "secret".
var aloneSite = fmt.Sprintf(`	rate_limit {
		zone full {
			key {header.X-Api-Key}
			limit 1000/1h
			max_keys 8
		}
	}
	rate_limit /user* {
		zone early {
			key {http.auth.user.id}
			limit 100000/1s
		}
	}
	rate_limit /nobody* {
		zone keyless {
			key {header.X-Nobody-Sends}
			limit 100000/1s
		}
	}
	rate_limit /lost* {
		zone lost {
			key {jwt.sub}
			on_missing_key skip
			limit 100000/1s
		}
	}
	rate_limit /small* {
		zone small {
			key all
			limit 1/1h
		}
	}
	rate_limit /dear* {
		zone dear {
			key all
			limit 100000000/1h
			cost 5000
		}
	}
	rate_limit /odd* {
		zone odd {
			key {query.k}
			limit 100000/1s
			tier {header.X-Tier} trusted {
				pro 100000/1s
			}
			cost {header.X-Cost} trusted
			deny_key bad_*
		}
		zone tried {
			key all
			limit 1/1h
			dry_run
		}
	}
	rate_limit /many* {
%s	}
	basic_auth /user* {
		alice $2a$04$QAZ/EfkZmmaVdHVAsB6cAOlEkI5KJ6IIwXaikF1QbQZ3gZObqgiHa
	}`, manyZones)

// fleetSite limits by API key, with on_outage open.
func fleetSite(limit string) string { return nodetest.UserSite(limit + "\n\t\t\ton_outage open") }

// pace is the time between two requests of a load.
const pace = 10 * time.Millisecond

// rulesKey is the key in Redis that has the rules, and the channel on which nodes learn of new ones.
const rulesKey = "rl:{rules}:versions"

// causes are expressions that show that the cause of an alert exists. They do not depend on what the rules
// record.
var causes = map[string]string{
	"RateLimitRejectionsHigh":        `rate(caddy_rate_limit_decisions_total{outcome="rejected", zone="small"}[2s]) > 1`,
	"RateLimitKeyFlood":              `rate(caddy_rate_limit_evictions_total[2s]) > 1`,
	"RateLimitBeforeAuthentication":  `caddy_rate_limit_before_authentication_total > 0`,
	"RateLimitKeysMissing":           `rate(caddy_rate_limit_missing_keys_total{zone="keyless"}[2s]) > 0.1`,
	"RateLimitHotKey":                `caddy_rate_limit_hottest_key_per_second > 10000`,
	"RateLimitPlaceholderUnprovided": `caddy_rate_limit_unprovided_placeholders > 0`,
	"RateLimitEmergency":             `caddy_rate_limit_emergency > 0`,
	"RateLimitRulesNotPolled":        `caddy_rate_limit_rules_failed_polls_total > 2`,
	"RateLimitNodesDisagree":         `caddy_rate_limit_differing_nodes > 0`,
	"RateLimitRedisLookupFailing":    `caddy_rate_limit_redis_lookup_failing > 0`,
	"RateLimitRedisSlow":             `quantile_over_time(0.5, caddy_rate_limit_redis_latency_seconds[2s]) > 0.005`,
	"RateLimitZoneSlow":              `histogram_quantile(0.99, sum by (job, zone, le) (rate(caddy_rate_limit_zone_store_seconds_bucket[2s]))) > 0.025`,
	"RateLimitRedisErrors":           `rate(caddy_rate_limit_redis_errors_total[2s]) > 0.1`,
	"RateLimitRedisMemory":           `caddy_rate_limit_redis_memory_bytes / (caddy_rate_limit_redis_max_memory_bytes > 0) > 0.9`,
	"RateLimitRedisEvicts":           `increase(caddy_rate_limit_redis_evicted_keys_total[6s]) > 0`,
	"RateLimitReplicaLags":           `caddy_rate_limit_redis_replication_lag_bytes > 1e7`,
	"RateLimitRedisDown":             `caddy_rate_limit_breaker_state > 0`,
	"RateLimitOutage":                `rate(caddy_rate_limit_decisions_total{source="outage"}[2s]) > 0`,
	"RateLimitDebtGrows":             `caddy_rate_limit_outage_debt_events > 0`,
	"RateLimitDecisionsUnrecorded":   `rate(caddy_rate_limit_decisions_unrecorded_total[2s]) > 0`,
	"RateLimitBreakerFlapping":       `changes(caddy_rate_limit_breaker_state[6s]) > 5`,
}

// TestFleet produces the cause of each alert on real nodes, and waits until the alert fires and is
// resolved. Then it runs the queries of the dashboard.
//
// Two nodes count in one Redis, one in another Redis under Sentinel, and one in its memory.
func TestFleet(t *testing.T) {
	redis := redistest.NewServer(t)
	proxy := redistest.NewProxy(t, redis.Addr)
	sentinel := redistest.NewSentinel(t)
	options := nodetest.InRedis(proxy.Addr) + "\nbreaker {\n\tprobe_every 100ms\n\tprobes 1\n}"
	fleet := nodetest.StartAll(t, 2, options, fleetSite("100000/1h"))
	watched := nodetest.Start(t, "redis sentinel {\n\taddress "+strings.Join(sentinel.Addrs, " ")+"\n\tmaster_name "+
		sentinel.MasterName+"\n}", fleetSite("100000/1h"))
	alone := nodetest.Start(t, "decisions log", aloneSite)
	all := append(slices.Clone(fleet), watched, alone)
	p := startPrometheus(t, map[string][]*nodetest.Node{"fleet": fleet, "sentinel": {watched}, "alone": {alone}})
	for _, n := range all { // decisions before the causes
		n.Await("a decision", func() bool { status, _, err := n.Get("/", "X-Api-Key: a"); return err == nil && status == 200 })
	}
	evaluations := func() int { return len(p.query("evaluation[5m]")[0].Values) }
	p.await("some evaluations", func() bool { return len(p.query("evaluation")) > 0 && evaluations() > 4 })
	if firing := p.firing(); len(firing) > 0 {
		t.Errorf("%v fire while nothing is wrong", firing)
	}
	seen := make(map[string]alert) // that have fired
	fires := func(alerts ...string) {
		t.Helper()
		p.await(fmt.Sprint(alerts), func() bool {
			for _, a := range p.firing() {
				seen[a.Labels["alertname"]] = a
			}
			return !slices.ContainsFunc(alerts, func(name string) bool { return seen[name].Labels == nil })
		})
	}

	t.Log("what clients do")
	loads := []func(){ // each function stops one load
		alone.Send(pace, func(i int) (string, string) { return "/", fmt.Sprint("X-Api-Key: flood", i) }),
		alone.Send(pace, func(int) (string, string) { return "/user", "Authorization: Basic YWxpY2U6c2VjcmV0" }),
		alone.Send(pace, func(int) (string, string) { return "/nobody", "X-Api-Key: a" }),
		alone.Send(pace, func(int) (string, string) { return "/small", "X-Api-Key: a" }),
		alone.Send(pace, func(i int) (string, string) {
			return "/odd?k=" + []string{"a", "bad_1", "1&k=2"}[i%3], "X-Tier: gold"
		}),
		fleet[1].Send(pace, func(i int) (string, string) { return "/", fmt.Sprint("X-Api-Key: new", i) }),
		fleet[0].Send(pace, func(int) (string, string) { return "/", "X-Api-Key: a" }),
	}
	fleet[0].MustAsk("POST", "overrides", `{"zone": "user", "key": "b", "multiplier": 2}`)
	alone.MustAsk("POST", "emergency", `{"limit": "100000/1s", "expires_in": "15m"}`)
	fleet[1].Reload(options, fleetSite("90000/1h"))
	for _, s := range sentinel.Sentinels {
		s.Pause()
	}
	proxy.Delay(30 * time.Millisecond)
	for seen["RateLimitHotKey"].Labels == nil { // as hot as necessary, and no hotter: the average takes time to fall
		if alone.Metric(`caddy_rate_limit_hottest_key_per_second{zone="dear"}`) < 15000 {
			alone.MustGet(200, "/dear")
		}
		fires()
	}
	for seen["RateLimitDecisionsUnrecorded"].Labels == nil { // as many as necessary, and no more: they are in the log of the node
		for range 5 {
			_, _, _ = alone.Get("/many") // another zone may reject the request after these
		}
		fires()
	}
	_, _, _ = alone.Get("/lost")
	byClients := []string{"RateLimitPlaceholderUnprovided", "RateLimitKeyFlood", "RateLimitBeforeAuthentication", "RateLimitKeysMissing", "RateLimitRejectionsHigh"}
	fires(append(byClients, "RateLimitEmergency", "RateLimitRedisSlow", "RateLimitZoneSlow", "RateLimitRedisLookupFailing")...)
	for _, stop := range loads[:6] {
		stop()
	}
	proxy.Delay(0)
	for _, s := range sentinel.Sentinels {
		s.Resume()
	}
	alone.MustAsk("DELETE", "emergency", "")

	t.Log("a Redis is full, and its replica does not follow")
	ctx := t.Context()
	watched.Kill() // a new process asks Redis at once, this one within 15 s
	fill(t, sentinel)
	watched.Restart()
	fires("RateLimitRedisMemory", "RateLimitRedisEvicts", "RateLimitReplicaLags")
	sentinel.Replica.Resume()
	watched.Kill()
	if err := sentinel.Primary.Client().ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	watched.Restart()

	t.Log("another program has overwritten the rules")
	if err := redis.Client().Set(ctx, rulesKey, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for seen["RateLimitRulesNotPolled"].Labels == nil {
		if err := redis.Client().Publish(ctx, rulesKey, "").Err(); err != nil { // has nodes read the rules now
			t.Fatal(err)
		}
		fires()
	}
	redis.Client().Del(ctx, rulesKey)
	fires("RateLimitNodesDisagree")
	fleet[1].Reload(options, fleetSite("100000/1h"))

	t.Log("Redis ends, three times")
	for i := range 3 {
		redis.Kill()
		p.await("open breakers", func() bool { return len(p.query("caddy_rate_limit_breaker_state > 1")) == len(fleet) })
		if i == 0 {
			fires("RateLimitRedisDown", "RateLimitOutage", "RateLimitDebtGrows", "RateLimitRedisErrors")
		}
		redis.Restart()
		p.await("closed breakers", func() bool { return len(p.query("caddy_rate_limit_breaker_state > 0")) == 0 })
	}
	fires("RateLimitBreakerFlapping")
	loads[6]()
	alone.Reload("decisions log", strings.Replace(aloneSite, "{jwt.sub}", "{header.X-Api-Key}", 1))
	p.await("the end of all alerts", func() bool { return len(p.firing()) == 0 })

	for name, cause := range causes {
		n := p.evaluationsUntil(name, cause)
		t.Logf("%s fires at evaluation %d", name, n)
		if n > 2 {
			t.Errorf("%s fires at evaluation %d after its cause, want 2 at most", name, n)
		}
		checkAnnotations(t, seen[name])
	}
	checkQueries(t, p)
}

// fill has a primary evict keys, and has its replica lag behind.
func fill(t *testing.T, s *redistest.Sentinel) {
	t.Helper()
	s.Replica.Pause()
	ctx, primary := t.Context(), s.Primary.Client()
	for _, setting := range []string{"maxmemory-policy volatile-ttl", "maxmemory 16mb", "client-output-buffer-limit replica 0 0 0"} {
		name, value, _ := strings.Cut(setting, " ")
		if err := primary.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	pipeline := primary.Pipeline()
	for i := range 200 {
		pipeline.Set(ctx, fmt.Sprint("full", i), strings.Repeat("x", 100_000), time.Minute)
	}
	if _, err := pipeline.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

// checkAnnotations checks that an alert has the annotations that it needs, and that its runbook exists.
func checkAnnotations(t *testing.T, a alert) {
	t.Helper()
	name := a.Labels["alertname"]
	for _, annotation := range []string{"summary", "description"} {
		text := a.Annotations[annotation]
		if text == "" || regexp.MustCompile(`<no value>|<error|NaN|\{\{`).MatchString(text) {
			t.Errorf("%s has the %s %q", name, annotation, text)
		}
	}
	if !slices.Contains([]string{"info", "warning", "critical"}, a.Labels["severity"]) {
		t.Errorf("%s has the severity %q", name, a.Labels["severity"])
	}
	_, page, _ := strings.Cut(a.Annotations["runbook_url"], "/blob/main/")
	if _, err := os.Stat(filepath.Join(root, page)); page == "" || err != nil {
		t.Errorf("%s has the runbook_url %q: %v", name, a.Annotations["runbook_url"], err)
	}
}
