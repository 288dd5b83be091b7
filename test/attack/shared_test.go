package attack

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// from returns the field that makes a client's address.
func from(address string) field { return field{"X-Forwarded-For", address} }

// Point 7.3: clients that one zone rejects, and admits again every 200 ms, hammer a key that all
// share. It loses what was admitted. The keys of the four addresses are on several primaries, and
// leases of the common key live for less than a second.
func TestRejectedClientDrainsNobody(t *testing.T) {
	const addresses, connections, requests, common = 4, 64, 80, 600
	cluster := redistest.SharedCluster(t)
	g := serveWith(t, onRedis("lease", "cluster", 5*time.Second, cluster.Addrs...), fmt.Sprintf(`rate_limit {
		zone address {
			key {client_ip}
			limit 5/1s
		}
		zone common {
			key everybody
			limit %d/24h
			max_overshoot 0.001%%
		}
	}`, common), hello)
	others := 0
	other := func() tally {
		others++
		return g.one(t, from(fmt.Sprintf("10.0.%d.%d", others/200, others%200)))
	}
	admitted := 0
	redistest.Eventually(t, "decisions by Redis", func() bool {
		admitted = other().admitted
		return admitted == 1
	})
	load := g.hammer(t, addresses*connections, requests, func(conn, _ int) request {
		return get("/", from(fmt.Sprint("192.0.2.", conn%addresses)))
	})
	t.Logf("%+v", load)
	admitted += load.admitted
	if most := common / 2; load.admitted < 5*addresses || load.admitted > most || load.degraded+load.failed > 0 {
		t.Fatalf("%+v, want %d to %d admitted, and the rest rejected", load, 5*addresses, most)
	}
	redistest.Eventually(t, "the other events of the common key", func() bool {
		admitted += other().admitted
		return admitted >= common
	})
	if last := other(); last.rejected != 1 {
		t.Errorf("above the limit of the common key: %+v, want a rejection", last)
	}
}

// Point 7.4: the primary of the tenant's key hangs, and the one of the address's key does not.
func TestHungPrimaryLeavesOtherZonesInForce(t *testing.T) {
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
			tenants := []string{"first"} // of different primaries, and none on the address's
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
				t.Errorf("while the tenant's primary hangs: %+v, want %d let past, and %d rejected", load, own-1, 41-own)
			}
			if got := g.hammer(t, 1, 1, func(int, int) request { return as(tenants[0]) }); got.rejected != 1 {
				t.Errorf("as another tenant: %+v, want a rejection", got)
			}
			if seen := u.count(address); seen != own {
				t.Errorf("the upstream has seen the address %d times, the limit is %d", seen, own)
			}
		})
	}
}
