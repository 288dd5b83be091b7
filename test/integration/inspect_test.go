package integration

import (
	"fmt"
	"testing"
)

const tieredZone = `
	rate_limit {
		zone user {
			key {header.X-User}
			on_missing_key {client_ip} 2/1h
			limit 3/1h
			tier {header.X-Tier} trusted {
				free 60/1h
				pro 200/1h
				trial unlimited
				keys sk_free_* free
				default free
			}
			endpoint /low 1/1h
			mode strict
		}
		zone search {
			key {header.X-User}
			endpoint /search 5/1h
		}
	}
	respond hello`

// TestInspectWhereRequestsDecideTheTier checks that a key is shown with the limit without a tier if only
// requests say the tier of the key.
func TestInspectWhereRequestsDecideTheTier(t *testing.T) {
	inEachStoreOf(t, tieredZone, func(t *testing.T, g *gateway) {
		for range 72 {
			g.get("/", "X-User: acme", "X-Tier: pro").is(200)
		}
		inspect := func(body string) *reply {
			t.Helper()
			return g.admin("POST", "/rate_limit/zones/user/inspect", body).is(200)
		}
		inspect(`{"key": "acme"}`).says(`"tier":{"source":"placeholder","placeholder":"{http.request.header.X-Tier}"}`)
		tiers := fmt.Sprint(inspected(inspect(`{"key": "acme"}`)))
		const want = "[{/low free 1 1} {/low pro 1 1} {/low trial 1 1} { free 60 0} { pro 200 128} { trial unlimited}]"
		if tiers != want {
			t.Errorf("inspect shows the tiers %s, want %s", tiers, want)
		}
		if tiers := fmt.Sprint(inspected(inspect(`{"key": "acme", "tier": "pro"}`))); tiers != "[{/low pro 1 1} { pro 200 128}]" {
			t.Errorf("with a tier, inspect shows %s", tiers)
		}
		inspect(`{"key": "sk_free_1"}`).says(`"tier":{"name":"free","source":"keys"}`)
		inspect(`{"key": "127.0.0.1", "missing": true}`).says(`"limit":"2/1h","from":[{"limit":"2/1h","source":"configuration","place":"missing key"}]`,
			`"endpoint":"/low","limit":"1/1h","from":[`, `{"limit":"1/1h","source":"configuration","place":"endpoint"}]`)
	})
}

// inspected returns the endpoint, the tier, the limit and what remains, for each count in an answer of
// inspect.
func inspected(r *reply) (counts []string) {
	for _, c := range r.object()["counts"].([]any) {
		shown := c.(map[string]any)
		text := func(name string) string { text, _ := shown[name].(string); return text }
		count, counted := shown["count"].(map[string]any)
		if counted {
			counts = append(counts, fmt.Sprintf("{%s %s %v %v}", text("endpoint"), text("tier"), count["limit"], count["remaining"]))
		} else {
			counts = append(counts, fmt.Sprintf("{%s %s %s}", text("endpoint"), text("tier"), text("limit")))
		}
	}
	return counts
}

// TestZonesListEachLimit checks that the limit of requests without a key is listed, and a tier that is
// unlimited. A limit that no request reaches is not listed.
func TestZonesListEachLimit(t *testing.T) {
	g := serve(t, tieredZone)
	g.admin("GET", "/rate_limit/zones/user", "").is(200).says(
		`{"tier":"trial","limit":"unlimited","algorithm":"token_bucket","from":[`,
		`{"missing":true,"limit":"2/1h","algorithm":"token_bucket","from":[{"limit":"2/1h","source":"configuration","place":"missing key"}]}`,
		`{"missing":true,"limit":"1/1h","algorithm":"token_bucket","from":[`)
	if body := g.admin("GET", "/rate_limit/zones/user", "").body; count([]string{body}, `{"limit":"3/1h","algorithm"`) > 0 {
		t.Errorf("the zone's own limit is listed, but each key has a tier: %s", body)
	}
	g.admin("GET", "/rate_limit/zones/search", "").is(200).says(`{"tiers":[{"limit":"unlimited","from":[]}]}`)
}
