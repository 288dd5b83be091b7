package integration

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestAdminExplainConcurrent explains requests while another one is in flight. An explanation acquires
// nothing.
func TestAdminExplainConcurrent(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/waits" {
			began <- struct{}{}
			<-release
		}
	})
	site := `
	rate_limit {
		zone z {
			key {header.X-Api-Key}
			limit 3/1h
			concurrent 1
			count_status 401
		}
		zone dry {
			key all
			concurrent 1
			dry_run
		}
	}
	reverse_proxy ` + addr
	inEachStoreOf(t, site, func(t *testing.T, g *gateway) {
		explained := func(key string) (z, dry api.ExplainedZone, x *api.Explanation) {
			t.Helper()
			x = g.explain("GET", "/", []string{"X-Api-Key: " + key})
			return x.Handlers[0].Zones[1], x.Handlers[0].Zones[0], x
		}
		check := func(key string, inFlight int64, outcome, dryOutcome string, status int) {
			t.Helper()
			for range 3 { // an explanation that acquires a permit changes the next one
				z, dry, x := explained(key)
				if z.Outcome != outcome || dry.Outcome != dryOutcome || x.Response.Status != status {
					t.Errorf("%s is explained as %s, %s in the dry run, with %d, want %s, %s and %d: %+v",
						key, z.Outcome, dry.Outcome, x.Response.Status, outcome, dryOutcome, status, x)
				}
				if c := z.Concurrent[0]; len(z.Concurrent) != 1 || c.Rule.Limit != 1 || c.Rule.InFlight != inFlight || c.Outcome != outcome ||
					*c.Remaining != 1-inFlight {
					t.Errorf("%s: requests at once are explained as %+v, want %d in flight and %s", key, c, inFlight, outcome)
				}
				if l := z.Limits[0]; l.Outcome != api.Admitted || l.CountStatus != "401" {
					t.Errorf("%s: the rate is explained as %+v, want it admitted, and to count with 401", key, l)
				}
			}
		}
		check("k", 0, api.Admitted, api.Admitted, 0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.get("/waits", "X-Api-Key: k").is(200)
		}()
		<-began
		check("k", 1, api.Rejected, api.WouldReject, 429)
		check("other", 0, api.Admitted, api.WouldReject, 0)
		_, _, x := explained("k")
		got := g.get("/", "X-Api-Key: k").is(429)
		for _, name := range []string{"Retry-After", "Ratelimit", "Ratelimit-Policy"} {
			if want := x.Response.Headers[name]; got.header.Get(name) != want || want == "" {
				t.Errorf("%s is %q, explained as %q", name, got.header.Get(name), want)
			}
		}
		release <- struct{}{}
		<-done
		redistest.Eventually(t, "the end of the request", func() bool {
			z, _, _ := explained("k")
			return z.Concurrent[0].Rule.InFlight == 0
		})
		check("k", 0, api.Admitted, api.Admitted, 0)
		inspected := fmt.Sprint(g.admin("POST", "/rate_limit/zones/z/inspect", `{"key": "other"}`).is(200).object()["concurrent"])
		if want := "[map[in_flight:0 limit:1]]"; inspected != want {
			t.Errorf("the key that was explained alone has %s, want %s", inspected, want)
		}
	})
}
