package integration

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The metrics have what Redis says about itself, and how long each zone waits for it. A zone that asks Redis
// nothing has no more series than before, and neither has a zone that counts in memory.
func TestStoreMetrics(t *testing.T) {
	const zones = "rate_limit {\nzone asked {\nmode strict\nkey {path}\nlimit 9/1h\n}\n}\nrate_limit /idle {\nzone idle {\nkey all\nlimit 9/1h\n}\n}\nrespond hello"
	count := func(g *gateway, prefix string) (n int) {
		t.Helper()
		for series := range g.scrape() {
			if strings.HasPrefix(series, prefix) {
				n++
			}
		}
		return n
	}
	redis := redistest.NewServer(t, "maxmemory 100mb")
	g := serveWith(t, "rate_limit {\nredis {\naddress "+redis.Addr+"\n}\n}", zones)
	g.get("/a").is(200)
	g.get("/b").is(200)
	primary := `{primary="` + redis.Addr + `",store="redis standalone ` + redis.Addr + `"}`
	redistest.Eventually(t, "what Redis says", func() bool { return g.metric("caddy_rate_limit_redis_memory_bytes"+primary) > 0 })
	for series, want := range map[string]float64{
		"caddy_rate_limit_redis_max_memory_bytes" + primary:       100 << 20,
		"caddy_rate_limit_redis_evicted_keys_total" + primary:     0,
		`caddy_rate_limit_zone_store_seconds_count{zone="asked"}`: 2,
	} {
		if got := g.metric(series); got != want {
			t.Errorf("%s = %v, want %v", series, got, want)
		}
	}
	if n := count(g, "caddy_rate_limit_zone_store_seconds"); n != 13 {
		t.Errorf("%d series are about how long a zone waits, want the 13 of the zone that has asked", n)
	}
	inMemory := serve(t, strings.NewReplacer("asked", "counted", "mode strict\n", "").Replace(zones)) // the counters of asked stay
	inMemory.get("/a").is(200)
	for _, prefix := range []string{`caddy_rate_limit_zone_store_seconds_count{zone="counted"}`, "caddy_rate_limit_redis_"} {
		if n := count(inMemory, prefix); n > 0 {
			t.Errorf("%d series %s without Redis, want none", n, prefix)
		}
	}
}
