package fleet

import (
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestRejectedClientDrainsNobody has 256 connections of one address hammer a key that all share: it loses what was admitted.
func TestRejectedClientDrainsNobody(t *testing.T) {
	const site = `	rate_limit {
		zone address {
			key {header.X-Address}
			limit 10/24h
			algorithm fixed_window
		}
		zone common {
			key everybody
			limit 600/24h
			algorithm fixed_window
		}
	}`
	redis := redistest.NewServer(t)
	n := start(t, "redis {\n\taddress "+redis.Addr+"\n}", site)
	n.await("decisions by Redis", func() bool { return !degraded(n.mustGet(200, "/", "X-Address: first")) })
	load := n.overload(256, 20, "X-Address: one")
	if load.admitted != 10 || load.degraded > 0 {
		t.Errorf("%+v, want 10 admitted and none degraded", load)
	}
	others := 0
	n.await("the rest of the common key", func() bool {
		status, _, err := n.get("/", fmt.Sprint("X-Address: other", others))
		if err == nil && status == 200 {
			others++
		}
		return others == 600-1-10
	})
	n.mustGet(429, "/", "X-Address: last")
}
