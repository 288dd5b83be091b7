package integration

import (
	"encoding/json"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// An operator tries another limit on the requests that have come since the first question.
func TestAdminTry(t *testing.T) {
	g := serve(t, `
	rate_limit {
		zone user {
			key {header.X-User}
			limit 3/1h
			tier {header.X-Tier} trusted {
				pro 100/1h
			}
			endpoint /export 2/1h
		}
		zone watched {
			key {header.X-User}
			limit 4/1h
			dry_run
		}
	}
	respond hello`)
	try := func(zone, body string) (answer api.Trial) {
		t.Helper()
		r := g.admin("POST", "/rate_limit/zones/"+zone+"/try", body)
		r.is(200)
		if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	g.get("/", alice).is(200) // this request comes before the first question
	for _, zone := range []string{"user", "watched"} {
		if first := try(zone, "{}"); first.Requests != 0 || first.KeysPart != 1 || first.Since.IsZero() {
			t.Errorf("first trial = %+v, want no request", first)
		}
	}
	for range 8 {
		g.get("/", alice)
		g.get("/", "X-User: bob", "X-Tier: pro").is(200)
		g.get("/export", "X-User: carol")
	}
	for _, test := range []struct {
		zone, body string
		requests   int64
		limit      string // the limit that is tried, or the one in force
		rejected   int64
		best       string
	}{
		{"user", `{"limit":"5/1h"}`, 8, "5/1h", 3, ""}, // the answer is about the first of three limits with as many requests; one key needs most
		{"user", `{"tier":"pro","limit":"6/1h"}`, 8, "6/1h", 2, ""},
		{"user", `{"endpoint":"/export"}`, 8, "2/1h", 6, ""},
		{"watched", `{}`, 12, "4/1h", 4, "2/1h"}, // the requests that zone user admits
	} {
		answer := try(test.zone, test.body)
		found := false
		for _, l := range answer.Limits {
			if l.Limit == test.limit && (l.Tried || l.InForce) {
				found = true
				if l.RequestsRejected != test.rejected {
					t.Errorf("%s %s: %s rejects %d requests, want %d", test.zone, test.body, l.Limit, l.RequestsRejected, test.rejected)
				}
			}
		}
		if !found || answer.Requests != test.requests || answer.Recommended != test.best || answer.Nodes != 1 {
			t.Errorf("%s %s: %+v, want %d requests, %s tried and %s recommended", test.zone, test.body, answer, test.requests, test.limit, test.best)
		}
	}
	g.admin("POST", "/rate_limit/zones/user/try", `{"limit":"much"}`).is(400)
	g.admin("POST", "/rate_limit/zones/user/try", `{"tier":"gold"}`).is(400)
	g.admin("POST", "/rate_limit/zones/usr/try", `{}`).is(404)
}
