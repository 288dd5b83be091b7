package attack

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Point 7.5: thousands of connections hammer one key on a Redis that answers. Requests wait for
// longer than their timeout, because Caddy has so much to do, and the limit holds.
func TestOverloadIsNoOutage(t *testing.T) {
	const most, requests = 20, 4
	for _, test := range []struct {
		mode        string
		connections int
	}{{"strict", 1000}, {"strict", 3000}, {"lease", 1000}, {"lease", 3000}} {
		t.Run(fmt.Sprintf("%s/%d connections", test.mode, test.connections), func(t *testing.T) {
			redis := redistest.Shared(t)
			g := serveWith(t, onRedis(test.mode, "", 50*time.Millisecond, redis.Addr), fmt.Sprintf(`rate_limit {
				zone key {
					key {http.request.header.X-Api-Key}
					limit %d/24h
				}
			}`, most), hello)
			redistest.Eventually(t, "decisions by Redis", func() bool { return g.one(t, field{"X-Api-Key", "another"}).degraded == 0 })
			load := g.hammer(t, test.connections, requests, func(int, int) request { return get("/", field{"X-Api-Key", "hot"}) })
			if want := (tally{admitted: most, rejected: test.connections*requests - most}); load != want {
				t.Errorf("%+v, want %+v", load, want)
			}
		})
	}
}
