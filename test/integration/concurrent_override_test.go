package integration

import (
	"net/http"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestConcurrentOverride gives a key another number of requests at once.
func TestConcurrentOverride(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-release
	})
	site := "rate_limit {\n zone z {\n key {header.X-Api-Key}\n concurrent 1\n }\n}\nreverse_proxy " + addr
	inEachStoreOf(t, site, func(t *testing.T, g *gateway) {
		g.admin("POST", "/rate_limit/overrides", `{"id": "two", "zone": "z", "key": "k", "concurrent": 2}`).is(201).
			says(`"id":"two"`, `"concurrent":2`)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { g.get("/", "X-Api-Key: k").is(200) })
			<-began
		}
		g.get("/", "X-Api-Key: k").is(429).has("RateLimit-Policy", `"z:concurrent";q=2;qu="concurrent-requests"`)
		g.admin("POST", "/rate_limit/zones/z/inspect", `{"key": "k"}`).is(200).says(`"limit":2,"in_flight":2`, `"override":"two"`)
		g.admin("PATCH", "/rate_limit/overrides/two", `{"concurrent": null}`).is(400).says("neither limit nor multiplier nor concurrent")
		for range 2 {
			release <- struct{}{}
		}
		all.Wait()
		g.admin("DELETE", "/rate_limit/overrides/two", "").is(200)
		redistest.Eventually(t, "the number of the zone", func() bool {
			found := g.admin("POST", "/rate_limit/zones/z/inspect", `{"key": "k"}`).is(200).object()["concurrent"].([]any)
			return found[0].(map[string]any)["limit"] == 1.0
		})
	})
}
