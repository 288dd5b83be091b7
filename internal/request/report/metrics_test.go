package report

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/test/promtest"
)

// changes returns the metrics that f changes, as "name labels +value", and those that f adds, as "name labels
// =value".
func changes(t *testing.T, p *Process, f func()) (all []string) {
	t.Helper()
	before := gathered(t, p)
	f()
	after := gathered(t, p)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		switch {
		case !known:
			all = append(all, fmt.Sprintf("%s =%v", name, after[name]))
		case was != after[name]:
			all = append(all, fmt.Sprintf("%s %+g", name, after[name]-was))
		}
	}
	return all
}

// TestZoneMetrics increments each counter of a zone.
func TestZoneMetrics(t *testing.T) {
	p, _ := observed()
	z, release := usage.Acquire("z")
	defer release()
	c := z.Counters("", "")
	z.Comparisons.Used.Store(true)
	for want, count := range map[string]func(){
		"decisions_total  admitted lease  z =1, requests_total  z +1":                                    func() { c.Admitted[limiter.FromLease].Add(1) },
		"decisions_total  rejected store  z +1, declined_requests_total  z +1, requests_total  z +1":     func() { c.Rejected[limiter.FromStore].Add(1) },
		"decisions_total  degraded late  z =1, requests_total  z +1":                                     func() { c.Outage[limiter.FromLate].Add(1) },
		"decisions_total  unavailable outage  z =1, declined_requests_total  z +1, requests_total  z +1": func() { c.Unavailable[limiter.FromOutage].Add(1) },
		"decisions_total /v1/* would_reject store pro z =1, requests_total  z +1":                        func() { z.Counters("/v1/*", "pro").WouldReject[limiter.FromStore].Add(1) },
		"decisions_total  would_deny   z =1":                                                             func() { z.WouldDeny.Add(1) },
		"decisions_total  allowed   z =1":                                                                func() { z.Allowed.Add(1) },
		"decisions_total  denied   z =1":                                                                 func() { z.Denied.Add(1) },
		"missing_keys_total z =1":                                                                        func() { z.MissingKeys.Add(1) },
		"ambiguous_total z =1":                                                                           func() { z.Ambiguous.Add(1) },
		"invalid_costs_total z =1":                                                                       func() { z.InvalidCosts.Add(1) },
		"unknown_tiers_total z =1":                                                                       func() { z.UnknownTiers.Add(1) },
		"before_authentication_total z =1":                                                               func() { z.BeforeAuth.Add(1) },
		"comparisons_total admitted admitted z +1":                                                       func() { z.Comparisons.Add(true, true) },
		"comparisons_total admitted rejected z +1":                                                       func() { z.Comparisons.Add(false, true) },
		"comparisons_total rejected admitted z +1":                                                       func() { z.Comparisons.Add(true, false) },
		"comparisons_total rejected rejected z +1":                                                       func() { z.Comparisons.Add(false, false) },
		"address_decisions_total allowed +1":                                                             func() { p.Addresses.Allowed.Add(1) },
		"address_decisions_total denied +1":                                                              func() { p.Addresses.Denied.Add(1) },
		"untrusted_proxies_total +1":                                                                     func() { p.Addresses.UntrustedProxies.Add(1) },
		"exempt_proxies_total +1":                                                                        func() { p.Addresses.ExemptProxies.Add(1) },
		"decision_seconds late =1":                                                                       func() { p.Took(limiter.FromLate, time.Millisecond) },
		"rules_restored_total storage =1":                                                                func() { p.RulesOptions("storage").OnRepair(new(rules.Version), 1) },
		"zone_store_seconds z =1":                                                                        func() { z.Asked.Add(time.Millisecond) },
		"hottest_key_per_second z =5": func() {
			z.Top.Rejected.Add(time.Now(), &topkeys.Take{Key: []byte("k"), Cost: 5})
		},
		"emergency +1": func() { p.EmergencyOn(api.Emergency{ExpiresAt: new(time.Now())}) },
		"emergency -1": func() { p.EmergencyOff(api.Emergency{}, "", "") },
		"store_errors_total redis =0, store_seconds redis =1": func() { p.Asked("redis")(time.Millisecond, nil) },
		"store_errors_total other =1, store_seconds other =0": func() { p.Asked("other")(0, errors.New("refused")) },
	} {
		if want == "emergency -1" {
			p.emergency.Store(true)
		} else {
			p.emergency.Store(false)
		}
		if got := strings.Join(changes(t, p, count), ", "); got != want {
			t.Errorf("metrics change by %q, want %q", got, want)
		}
	}
	p.Ended("redis")
	if got := gathered(t, p); got["store_seconds redis"] != 0 || got["store_errors_total other"] != 1 {
		t.Errorf("metrics after the end of a store = %v, want those of the other", got)
	}
}

// TestStoreMetrics collects a store of which everything is known.
func TestStoreMetrics(t *testing.T) {
	ch := make(chan prometheus.Metric, 100)
	scrape(ch).collectStore(&stores.State{
		Name: "redis", Nodes: 3, Foreign: 4, Sentinels: 2, LookupErr: errors.New("no Sentinel"),
		Leases:     lease.Stats{Requests: 1, Granted: 20, Returned: 5, Expired: 6, Lost: 7, Debt: 18, DebtSettled: 9, DebtDropped: 1, Accounts: 11},
		Mismatches: []membership.Mismatch{{Zone: "a", Node: "1", Nodes: 3}, {Zone: "a", Node: "2", Nodes: 1}, {Zone: "b", Node: "2", Nodes: 1}},
		Primaries: []redisconn.Primary{
			{Breaker: redisconn.Breaker{Addr: "a:1", State: redisconn.Open, Latency: 250 * time.Millisecond},
				Errors: [redisconn.ErrorKinds]uint64{redisconn.Late: 3, redisconn.OtherError: 1}},
			{Breaker: redisconn.Breaker{Addr: "b:1", State: redisconn.HalfOpen},
				Server: &redisconn.Server{Memory: 10, MaxMemory: 20, Keys: 30, Commands: 40, Evicted: 50}},
			{Breaker: redisconn.Breaker{Addr: "c:1"}, Server: &redisconn.Server{Memory: 1, Replicas: 2, Lag: 7}},
		},
	})
	close(ch)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collected{ch})
	got := promtest.Values(t, registry)
	for series, want := range map[string]float64{
		"store_requests_total redis": 1, "lease_events_total redis granted": 20, "lease_events_total redis returned": 5,
		"lease_events_total redis expired": 6, "lease_events_total redis lost": 7, "outage_events_total redis admitted": 18,
		"outage_events_total redis settled": 9, "outage_events_total redis dropped": 1, "outage_debt_events redis": 8,
		"accounts redis": 11, "nodes redis": 3, "store_foreign_values_total redis": 4, "mismatched_zones redis": 2,
		"differing_nodes redis a": 4, "differing_nodes redis b": 1, "sentinels_reachable redis": 2,
		"redis_lookup_failing redis": 1, "breaker_state a:1 redis": 2, "breaker_state b:1 redis": 1, "breaker_state c:1 redis": 0,
		"redis_latency_seconds a:1 redis": 0.25, "redis_latency_seconds b:1 redis": 0, "redis_latency_seconds c:1 redis": 0,
		"redis_errors_total timeout a:1 redis": 3, "redis_errors_total other a:1 redis": 1,
		"redis_memory_bytes b:1 redis": 10, "redis_max_memory_bytes b:1 redis": 20, "redis_keys b:1 redis": 30,
		"redis_commands_total b:1 redis": 40, "redis_evicted_keys_total b:1 redis": 50, "redis_replicas b:1 redis": 0,
		"redis_memory_bytes c:1 redis": 1, "redis_max_memory_bytes c:1 redis": 0, "redis_keys c:1 redis": 0,
		"redis_commands_total c:1 redis": 0, "redis_evicted_keys_total c:1 redis": 0, "redis_replicas c:1 redis": 2,
		"redis_replication_lag_bytes c:1 redis": 7,
	} {
		if value, found := got[series]; !found || value != want {
			t.Errorf("%s = %v (found: %t), want %v", series, value, found, want)
		}
		delete(got, series)
	}
	if len(got) > 0 {
		t.Errorf("there are other series: %v", got)
	}
}

// collected collects metrics that were collected before.
type collected struct{ metrics chan prometheus.Metric }

func (collected) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

func (c collected) Collect(ch chan<- prometheus.Metric) {
	for m := range c.metrics {
		ch <- m
	}
}

// TestBreakersOfOneName has two stores of one name, whose breakers must not hide each other, as a
// registry refuses a series that is collected twice.
func TestBreakersOfOneName(t *testing.T) {
	p, _ := observed()
	for _, password := range []string{"", "secret"} {
		target, err := stores.Resolve(&config.Redis{Addresses: []string{"192.0.2.1:6379"}, Password: password}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, release := stores.Acquire(target, p)
		defer release()
	}
	got := gathered(t, p)
	const store = "redis standalone 192.0.2.1:6379"
	if state, found := got["breaker_state 192.0.2.1:6379 "+store]; !found || state != 0 || got["nodes "+store] != 1 {
		t.Errorf("metrics of two stores = %v, want one closed breaker", got)
	}
}

// TestMetricsOfStoreInMemory takes from a store in memory.
func TestMetricsOfStoreInMemory(t *testing.T) {
	p, _ := observed()
	s, release := stores.Acquire(nil, p)
	defer release()
	z, releaseZone := s.Open("held")
	defer releaseZone()
	rule, err := limiter.NewRule(limiter.Rule{Zone: z, Limit: limiter.Limit{Events: 5, Window: time.Minute}, MaxKeys: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Take(t.Context(), time.Now(), []limiter.Take{{Rule: rule, Key: []byte("k"), Cost: 1}}); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, p)
	for series, want := range map[string]float64{"keys_total held": 1, "evictions_total held": 0, "overflow_total held": 0} {
		if value, found := got[series]; !found || value != want {
			t.Errorf("%s = %v (found: %t), want %v", series, value, found, want)
		}
	}
}

// TestLimitMetrics collects the limits in force. Of a zone without requests, it wants only the limit of the
// zone for keys without a tier.
func TestLimitMetrics(t *testing.T) {
	p, _ := observed()
	z, release := usage.Acquire("y")
	defer release()
	if changed, want := changes(t, p, func() { z.Counters("/v1/*", "pro").Rejected[limiter.FromLease].Add(1) }), []string{
		"decisions_total /v1/* rejected lease pro y =1",
		"declined_requests_total  y +1", "limit_events  none y =0", "limit_events /v1/* pro y =5",
		"limit_window_seconds /v1/* pro y =3600", "requests_total  y +1",
	}; !slices.Equal(changed, want) {
		t.Errorf("changes by the first request = %q, want %q", changed, want)
	}
	got := gathered(t, p)
	for series, want := range map[string]float64{
		"limit_events   y": 100, "limit_window_seconds   y": 60,
		"limit_events /v1/* pro y": 5, "limit_window_seconds /v1/* pro y": 3600,
		"limit_events  none y": 0, // it blocks, and has no window
	} {
		if value, found := got[series]; !found || value != want {
			t.Errorf("%s = %v (found: %t), want %v", series, value, found, want)
		}
	}
	if _, found := got["limit_window_seconds  none y"]; found {
		t.Error("a limit that blocks has a window")
	}
}

// Each metric is documented, and no other metric is.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operate", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented, offered := make(map[string]bool), make(map[string]bool)
	for _, name := range regexp.MustCompile("`(caddy_rate_limit_[a-z_]+)").FindAllStringSubmatch(string(text), -1) {
		documented[name[1]] = true
	}
	p, _ := observed()
	ch := make(chan *prometheus.Desc, 100)
	p.Describe(ch)
	close(ch)
	for d := range ch {
		offered[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	got, want := slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(offered))
	if !slices.Equal(got, want) {
		t.Errorf("docs/operate/metrics.md documents\n%v, want what Caddy offers,\n%v", got, want)
	}
}
