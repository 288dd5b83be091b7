package fleetlimit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// provisionedApp returns an app from its JSON configuration.
func provisionedApp(t *testing.T, config string) *App {
	t.Helper()
	a := new(App)
	if err := json.Unmarshal([]byte(config), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Cleanup() })
	if err := a.Provision(caddy.Context{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// clientsInUse returns how many stores use each client.
func clientsInUse() (uses []int) {
	clientPool.Range(func(identity, _ any) bool {
		n, _ := clientPool.References(identity)
		uses = append(uses, n)
		return true
	})
	return uses
}

// TestReloadSharesStoreAndClient provisions pairs of configurations, as a reload does, without a
// Redis.
func TestReloadSharesStoreAndClient(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	const redis = `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret"}}`
	for _, tc := range []struct {
		name, earlier, later string
		same                 bool // store
		clients              int
	}{
		{"memory", `{}`, `{}`, true, 0},
		{"same", redis, redis, true, 1},
		{"same, written otherwise", redis, `{"redis": {"mode": "standalone", "addresses": ["192.0.2.1:6379"], "key_prefix": "rl",
			"password": "{env.FLEETLIMIT_TEST_PASSWORD}", "timeout": "50ms"}}`, true, 1},
		{"prefix", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "key_prefix": "b"}}`, false, 1},
		{"password", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "other"}}`, false, 2},
		{"address", redis, `{"redis": {"addresses": ["192.0.2.2:6379"], "password": "secret"}}`, false, 2},
		{"timeout", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "timeout": "60ms"}}`, false, 2},
		{"tls", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "tls": {}}}`, false, 2},
		{"memory and Redis", `{}`, redis, false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := provisionedApp(t, tc.earlier), provisionedApp(t, tc.later)
			if same := a.store == b.store; same != tc.same {
				t.Errorf("one store for both = %v, want %v", same, tc.same)
			}
			if got := clientsInUse(); len(got) != tc.clients {
				t.Errorf("clients = %d, want %d", len(got), tc.clients)
			}
			clientPool.Range(func(identity, _ any) bool {
				if strings.Contains(identity.(string), "secret") {
					t.Errorf("the key of a client is %v, with the password", identity)
				}
				return true
			})

			a.Cleanup()
			a.Cleanup() // releases only once
			if got := b.store.Store; got == nil || len(clientsInUse()) != min(tc.clients, 1) {
				t.Errorf("the later configuration has store %v and clients %v after the earlier one ended", got, clientsInUse())
			}
			b.Cleanup()
			if got := clientsInUse(); len(got) != 0 {
				t.Errorf("clients after both ended = %v, want none", got)
			}
		})
	}
}

// gathered returns the values of all metrics by name and labels. That of a histogram is its count.
func gathered(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registerMetrics(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("metrics cannot be gathered: %v", err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "caddy_rate_limit_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// TestMetricsFollowZoneToRedis reloads a zone from memory to Redis: metrics go on, counts do not.
func TestMetricsFollowZoneToRedis(t *testing.T) {
	acquire := func(a *App) (*zoneState, func()) {
		t.Helper()
		z, _, release := acquireZone(a.store, "moving")
		return z, release
	}

	memory := provisionedApp(t, `{}`)
	z, release := acquire(memory)
	z.counters.admitted[limiter.FromStore].Add(3)
	redis := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	later, releaseLater := acquire(redis)
	later.counters.admitted[limiter.FromStore].Add(4)
	if got := gathered(t); got["decisions_total admitted store moving"] != 7 || got["keys_total moving"] != 0 {
		t.Errorf("metrics while both configurations are there = %v, want 7 admitted and 0 keys", got)
	}

	release()
	got := gathered(t)
	if got["decisions_total admitted store moving"] != 7 {
		t.Errorf("metrics after the earlier configuration = %v, want 7 admitted", got)
	}
	for _, name := range []string{"keys_total moving", "evictions_total moving", "overflow_total moving"} {
		if _, found := got[name]; found {
			t.Errorf("there is a metric %s of a zone in Redis, which only memory has", name)
		}
	}
	releaseLater()
	if got := pooledZones(); len(got) != 0 {
		t.Errorf("zones in use at the end = %d, want 0", len(got))
	}
}

// TestStoreMetricsSurviveReload changes the key prefix: the new store has the same name in metrics.
func TestStoreMetricsSurviveReload(t *testing.T) {
	const seconds, errs = "store_seconds redis standalone 192.0.2.1:6379", "store_errors_total redis standalone 192.0.2.1:6379"
	earlier := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	later := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"], "key_prefix": "b"}}`)
	observe := metrics.storeObserver(later.store.name) // what a store keeps
	observe(time.Millisecond, nil)
	earlier.Cleanup()
	observe(0, errors.New("refused"))
	if got := gathered(t); got[seconds] != 1 || got[errs] != 1 {
		t.Errorf("requests answered, failed = %v, %v, want 1, 1", got[seconds], got[errs])
	}
	later.Cleanup()
	if got := gathered(t); got[seconds] != 0 || got[errs] != 0 {
		t.Errorf("there are requests %v, %v of stores that have ended", got[seconds], got[errs])
	}
}
