package attack

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// from returns the field that names a client's address.
func from(address string) field { return field{"X-Forwarded-For", address} }

// The primary of the tenant's key hangs. The primary of the address's key does not.
func TestHungPrimaryLiftsNoOtherLimit(t *testing.T) {
	const own = 10
	cluster := redistest.NewCluster(t, "cluster-require-full-coverage no")
	for _, mode := range []string{"strict", "lease"} {
		t.Run(mode, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string { return r.Header["X-Address"] })
			g := serveWith(t, onRedis(mode, "cluster", 200*time.Millisecond, cluster.Addrs...), fmt.Sprintf(`rate_limit {
				zone address {
					key {http.request.header.X-Address}
					limit %d/24h
					algorithm fixed_window
				}
				zone tenant {
					key {http.request.header.X-Tenant}
					limit 1000/24h
				}
			}`, own), u.ServeHTTP)
			address := "192.0.2.1 " + mode
			as := func(tenant string) request { return get("/", field{"X-Address", address}, field{"X-Tenant", tenant}) }
			of := func(key string) *redistest.Server { return cluster.Primary("rl:{kt" + key + "}") }
			tenants := []string{"first"} // the second's key is on another primary than the first's and the address's
			for n := 0; len(tenants) < 2; n++ {
				if tenant := fmt.Sprint("tenant", n); of(tenant) != of("first") && of(tenant) != of(address) {
					tenants = append(tenants, tenant)
				}
			}
			redistest.Eventually(t, "decisions by Redis", func() bool {
				return g.one(t, field{"X-Address", "198.51.100.1"}, field{"X-Tenant", tenants[1]}).degraded == 0
			})
			if got := g.hammer(t, 1, 1, func(int, int) request { return as(tenants[0]) }); got.admitted != 1 {
				t.Fatalf("with all primaries: %+v, want it admitted", got)
			}
			hung := of(tenants[1])
			hung.Pause()
			defer hung.Resume()
			// Some requests may come after the replica has taken over.
			load := g.hammer(t, 1, 40, func(int, int) request { return as(tenants[1]) })
			if load.degraded == 0 || load.degraded+load.admitted != own-1 || load.rejected != 41-own {
				t.Errorf("while the tenant's primary hangs: %+v, want %d admitted or degraded, %d rejected", load, own-1, 41-own)
			}
			if got := g.hammer(t, 1, 1, func(int, int) request { return as(tenants[0]) }); got.rejected != 1 {
				t.Errorf("as another tenant: %+v, want a rejection", got)
			}
			if seen := u.count(address); seen != own {
				t.Errorf("requests at the upstream = %d, want %d", seen, own)
			}
		})
	}
}
