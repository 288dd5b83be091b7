package attack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// maxKeys is the number of keys that fit into the flooded zone.
const maxKeys = 100

// floodZone fills a zone with keys of one address that are at their limit, which is 1, and sends many more
// keys. It checks that keys of other addresses are still admitted, and that no key is admitted above its limit.
func floodZone(t *testing.T, g *gateway) {
	t.Helper()
	const conns, keys, addresses, paying = 10, 1000, 10, 10
	key := func(key ...any) request { return get("/", field{"X-Api-Key", fmt.Sprint(key...)}) }
	g.hammerFrom(t, "127.0.0.2", conns, keys, func(conn, n int) request { return key("flood", conn, "-", n) })
	if load := g.hammerFrom(t, "127.0.0.2", 1, paying, func(_, n int) request { return key("more", n) }); load.rejected != paying {
		t.Errorf("%d later keys of the flood: %+v, want them rejected", paying, load)
	}
	admitted, same := 0, 0
	for n := range addresses {
		address := fmt.Sprint("127.0.1.", 1+n)
		load := g.hammerFrom(t, address, 1, paying, func(_, i int) request { return key("paying", n, "-", i) })
		admitted += load.admitted + load.degraded
		load = g.hammerFrom(t, address, 1, 1, func(int, int) request { return key("same") })
		same += load.admitted + load.degraded
	}
	if admitted < addresses*paying*9/10 {
		t.Errorf("%d of %d keys of other addresses were admitted, want 90 %%", admitted, addresses*paying)
	}
	if same > 1 {
		t.Errorf("%d requests of one key were admitted, want at most 1", same)
	}
}

// floodedZone is the zone that floodZone floods.
var floodedZone = fmt.Sprintf(`rate_limit {
	zone key {
		key {http.request.header.X-Api-Key}
		limit 1/1h
		max_keys %d
	}
}`, maxKeys)

// Keys at their limit fill a zone in memory. New keys of other clients are still admitted.
func TestFullZoneAdmitsNewKeys(t *testing.T) {
	g := serve(t, floodedZone, hello)
	floodZone(t, g)
	const full = "the zone is full of keys at their limit, so new keys share counts: use a larger max_keys"
	if warnings := g.logged(t, full); len(warnings) != 1 {
		t.Errorf("warnings that the zone is full = %d, want 1", len(warnings))
	}
}

// Keys at their limit fill a zone while Redis is down and this node decides by itself. New keys of other
// clients are still admitted.
func TestFullZoneAdmitsNewKeysInOutage(t *testing.T) {
	server := redistest.NewServer(t)
	for _, mode := range []string{"lease", "strict"} {
		t.Run(mode, func(t *testing.T) {
			g := serveWith(t, onRedis(mode, "", time.Second, server.Addr), floodedZone, hello)
			redistest.Eventually(t, "decisions by Redis", func() bool { return g.one(t, field{"X-Api-Key", mode}).degraded == 0 })
			server.Kill()
			defer server.Restart()
			redistest.Eventually(t, "decisions without Redis", func() bool { return g.one(t, field{"X-Api-Key", "other" + mode}).degraded > 0 })
			floodZone(t, g)
		})
	}
}

// A Redis that has no memory left and evicts nothing gets few calls.
func TestRedisWithoutMemory(t *testing.T) {
	const flood = 3000
	server := redistest.NewServer(t, "maxmemory-policy noeviction")
	redis := server.Client()
	g := serveWith(t, onRedis("lease", "", time.Second, server.Addr), fmt.Sprintf(`rate_limit {
		zone key {
			key {http.request.header.X-Api-Key}
			limit %d/24h
		}
	}`, limit), hello)
	redistest.Eventually(t, "decisions by Redis", func() bool { return g.one(t, field{"X-Api-Key", "another"}).degraded == 0 })
	full := func(int, int) request { return get("/", field{"X-Api-Key", "full"}) }
	if load := g.hammer(t, 1, limit+1, full); load != (outcomes{admitted: limit, rejected: 1}) {
		t.Fatalf("with memory: %+v, want %d admitted", load, limit)
	}
	if err := redis.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	load := g.hammer(t, 30, flood/30, func(conn, n int) request {
		return get("/", field{"X-Api-Key", fmt.Sprintf("flood-%d-%d", conn, n)})
	})
	seconds := 2 + int(time.Since(start)/time.Second)
	if load != (outcomes{degraded: flood}) {
		t.Errorf("a flood of keys: %+v, want all of %d degraded", load, flood)
	}
	refused := 0
	_, stat, _ := strings.Cut(redis.Info(t.Context(), "errorstats").Val(), "errorstat_OOM:count=")
	_, _ = fmt.Sscan(stat, &refused)
	if most := 100 * seconds; refused == 0 || refused > most {
		t.Errorf("calls that Redis has refused in %d s = %d, want 1 to %d", seconds, refused, most)
	}
	if load := g.hammer(t, 1, 5, full); load.rejected != 5 {
		t.Errorf("the key at its limit: %+v, want it rejected", load)
	}
}

// Keys in Redis expire after two windows at most.
func TestKeysInRedisExpire(t *testing.T) {
	const window = 24 * time.Hour
	redis := redistest.Shared(t)
	var zones strings.Builder
	for i, algorithm := range []string{"token_bucket", "fixed_window", "sliding_window_log", "sliding_window 3"} {
		fmt.Fprintf(&zones, "zone z%d {\nkey {http.request.header.X-Api-Key}\nlimit 100000/24h\nalgorithm %s\n}\n", i, algorithm)
	}
	for _, mode := range []string{"strict", "lease"} {
		g := serveWith(t, onRedis(mode, "", time.Second, redis.Addr), "rate_limit {\n"+zones.String()+"}", hello)
		redistest.Eventually(t, "decisions by Redis", func() bool { return g.one(t, field{"X-Api-Key", mode + "another"}).degraded == 0 })
		g.hammer(t, 8, 25, func(conn, n int) request { return get("/", field{"X-Api-Key", fmt.Sprint(mode, conn, n%5)}) })
	}
	names := redis.Client().Keys(t.Context(), "rl:{k*").Val()
	if len(names) < 2*8*5 {
		t.Fatalf("keys in Redis = %d, want those of the requests", len(names))
	}
	for _, name := range names {
		if left := redis.Client().PTTL(t.Context(), name).Val(); left <= 0 || left > 2*window+time.Minute {
			t.Errorf("TTL of %q = %v, want at most two windows of %v", name, left, window)
		}
	}
}
