package gateway

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/promtest"
)

// gathered returns the values of all metrics: see promtest.
func gathered(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := reports.Register(registry); err != nil {
		t.Fatal(err)
	}
	return promtest.Values(t, registry)
}

// TestMetricsFollowZoneToRedis reloads a zone from memory to Redis: metrics go on, counts do not.
func TestMetricsFollowZoneToRedis(t *testing.T) {
	acquire := func(a *App) (*usage.ZoneCounters, func()) {
		z, releaseCounters := usage.Acquire("moving")
		_, releaseZone := a.store.Open("moving")
		return z, func() { releaseCounters(); releaseZone() }
	}

	memory := provisionedApp(t, `{}`)
	z, release := acquire(memory)
	z.Counters("", "").Admitted[limiter.FromStore].Add(3)
	redis := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	later, releaseLater := acquire(redis)
	later.Counters("", "").Admitted[limiter.FromStore].Add(4)
	if got := gathered(t); got["decisions_total  admitted store  moving"] != 7 || got["keys_total moving"] != 0 {
		t.Errorf("metrics while both configurations are there = %v, want 7 admitted and 0 keys", got)
	}

	release()
	got := gathered(t)
	if got["decisions_total  admitted store  moving"] != 7 {
		t.Errorf("metrics after the earlier configuration = %v, want 7 admitted", got)
	}
	for _, name := range []string{"keys_total moving", "evictions_total moving", "overflow_total moving"} {
		if _, found := got[name]; found {
			t.Errorf("there is a metric %s of a zone in Redis, which only memory has", name)
		}
	}
	releaseLater()
	if got := zonesInUse(); len(got) != 0 {
		t.Errorf("zones in use at the end = %d, want 0", len(got))
	}
}

// TestStoreMetricsSurviveReload changes the key prefix: the new store has the same name in metrics.
func TestStoreMetricsSurviveReload(t *testing.T) {
	const seconds, errs = "store_seconds redis standalone 192.0.2.1:6379", "store_errors_total redis standalone 192.0.2.1:6379"
	earlier := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	later := provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"], "key_prefix": "b"}}`)
	observe := reports.Asked(later.store.Name()) // what a store keeps
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
