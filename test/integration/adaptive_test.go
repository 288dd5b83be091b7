package integration

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestAdaptive has as many requests in flight as a zone admits, one of them with a body. Other requests get
// 503 meanwhile.
func TestAdaptive(t *testing.T) {
	release := make(chan struct{})
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/waits" {
			<-release
		}
		_, _ = w.Write(body)
	})
	g := serve(t, "rate_limit {\n zone z {\n adaptive {\n min 1\n max 2\n }\n }\n}\nreverse_proxy "+addr)
	zone := func() map[string]any {
		return g.admin("GET", "/rate_limit/zones/z", "").is(200).object()["adaptive"].(map[string]any)
	}
	var all sync.WaitGroup
	for _, body := range []string{"", "text"} {
		all.Go(func() {
			response, err := newClient().Post("http://"+g.addr+"/waits", "text/plain", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if got, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 || string(got) != body {
				t.Errorf("response = %d with %q, %v, want 200 with %q", response.StatusCode, got, err, body)
			}
		})
	}
	redistest.Eventually(t, "two requests in flight", func() bool { return zone()["in_flight"] == 2.0 })
	g.get("/").is(503).has("Retry-After", "1").has("Cache-Control", "no-store")
	if z := zone(); z["limit"] != 2.0 || z["max_latency"] != "500ms" || z["min"] != 1.0 || z["max"] != 2.0 {
		t.Errorf("zone = %v, want a limit of 2, from 1 to 2, and 500ms", z)
	}
	if x := g.explain("GET", "/", nil); x.Handlers[0].Outcome != api.Admitted || !x.Handlers[0].Zones[0].Applies {
		t.Errorf("a request is explained as %+v, want the zone to apply, which rejects for no reason of the request", x)
	} else if a := x.Handlers[0].Zones[0].Adaptive; a == nil || a.Limit != 2 || a.InFlight != 2 {
		t.Errorf("a request is explained with adaptive %+v, want 2 of 2 in flight", a)
	}
	g.admin("GET", "/rate_limit/zones/z/top", "").is(200).says(`"keys":[]`)
	close(release)
	all.Wait()
	g.get("/").is(200)
	redistest.Eventually(t, "nothing in flight", func() bool { return zone()["in_flight"] == 0.0 })
	metrics := g.scrape()
	for series, want := range map[string]float64{
		`caddy_rate_limit_decisions_total{endpoint="",outcome="overloaded",source="",tier="",zone="z"}`:    1,
		`caddy_rate_limit_decisions_total{endpoint="",outcome="admitted",source="store",tier="",zone="z"}`: 3,
		`caddy_rate_limit_adaptive_limit{zone="z"}`:                                                        2,
		`caddy_rate_limit_adaptive_in_flight{zone="z"}`:                                                    0,
	} {
		if got, found := metrics[series]; !found || got != want {
			t.Errorf("%s = %v, %v, want %v", series, got, found, want)
		}
	}
}
