package integration

import (
	"fmt"
	"strings"
	"testing"
)

// TestRejectionOfCostsAgrees checks that all parts of a 429 for a request with a cost agree: how much is
// left, and that it is less than the cost.
func TestRejectionOfCostsAgrees(t *testing.T) {
	const site = `
		rate_limit {
			log_rejections all
			reject %s
			zone search {
				key {header.X-User}
				limit 25/1h
				algorithm fixed_window
				mode strict
				cost {query.cost} trusted
			}
		}
		log
		respond hello`
	const message = "Rate limit of 25 requests per hour exceeded"
	for style, bodies := range map[string][2]string{
		"json": {`"message":"` + message + `: this request counts as 20, with 5 left",` +
			`"details":{"zone":"search","limit":25,"window_seconds":3600,"retry_after_seconds":%d,"cost":20,"remaining":5,"reset_at":"`,
			`"message":"` + message + `","details":{"zone":"search","limit":25,"window_seconds":3600,"retry_after_seconds":%d,"reset_at":"`},
		"problem": {`"detail":"` + message + `: this request counts as 20, with 5 left","violated-policies":["search"],` +
			`"retry_after_seconds":%d,"cost":20,"remaining":5}`,
			`"detail":"` + message + `","violated-policies":["search"],"retry_after_seconds":%d}`},
	} {
		inEachStoreOf(t, fmt.Sprintf(site, style), func(t *testing.T, g *gateway) {
			f := g.follow("outcome=rejected", "")
			rejects := func(query, body string, remaining int) {
				t.Helper()
				r := g.get("/"+query, alice).is(429).has("X-RateLimit-Remaining", fmt.Sprint(remaining))
				if draft := r.header.Get("RateLimit"); draft != fmt.Sprintf(`"search";r=%d;t=%d`, remaining, r.retryAfter()) {
					t.Errorf("RateLimit = %s, want r=%d and t=%d", draft, remaining, r.retryAfter())
				}
				if want := fmt.Sprintf(body, r.retryAfter()); !strings.Contains(r.body, want) {
					t.Errorf("body = %s, want %s in it", r.body, want)
				}
				if l := f.next(); l.Remaining == nil || *l.Remaining != remaining {
					t.Errorf("the decision is %+v, want %d remaining", l, remaining)
				}
			}
			g.get("/?cost=20", alice).admitted(5)
			rejects("?cost=20", bodies[0], 5)
			rejects("?cost=20", bodies[0], 5) // a remembered denial
			g.get("/?cost=5", alice).admitted(0)
			rejects("?cost=1", bodies[1], 0)
			if lines := g.logged("rate limit exceeded"); len(lines) != 3 || lines[0]["cost"] != 20.0 || lines[2]["cost"] != nil {
				t.Errorf("the log has %v, want three rejections, two with a cost of 20", lines)
			}
		})
	}
}
