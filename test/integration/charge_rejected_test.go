package integration

import (
	"fmt"
	"net/http"
	"testing"
)

// TestRejectionsOfCharges rejects requests in zones with charges. The rejections name the unit of the limit,
// and say how much the request reserves, and why.
func TestRejectionsOfCharges(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("tokens")
		w.Header().Set("X-Tokens", n)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"usage": {"total_tokens": %s}}`, n)
	})
	const ofKey = ": this request reserves up to 190, as your last responses have cost, with 50 left"
	for _, tc := range []struct {
		name, zone, path string
		times            int
		want             string
	}{
		{"the key's own", "limit 1000/24h\ncharge usage", "/?user=a&tokens=190", 5, "Rate limit of 1000 tokens per day exceeded" + ofKey},
		{"of all", "limit 1000/24h\ncharge usage", "/?user=a&tokens=990", 1,
			"Rate limit of 1000 tokens per day exceeded: this request reserves up to 990, as the last responses of all clients have cost, with 10 left"},
		{"a number", "limit 1000/24h burst 900\ncharge usage reserve 600", "/?user=a&tokens=500", 1,
			"Rate limit of 1000 tokens per day (bursts of 900) exceeded: this request reserves 600 until its cost is known, with 400 left"},
		{"1", "limit 2/24h\ncharge usage reserve 1", "/?user=a&tokens=2", 1,
			"Rate limit of 2 tokens per day exceeded: this request reserves 1 until its cost is known, with 0 left"},
		{"a header", "limit 1000/24h\ncharge {http.response.header.X-Tokens}", "/?user=a&tokens=190", 5, "Rate limit of 1000 events per day exceeded" + ofKey},
		{"an endpoint", "endpoint / {\nlimit 1000/24h\ncharge usage\n}", "/?user=a&tokens=190", 5, "Rate limit of 1000 tokens per day exceeded at /" + ofKey},
		{"an endpoint without a limit", "limit 1000/24h\nendpoint / {\ncharge usage\n}", "/?user=a&tokens=190", 5, "Rate limit of 1000 tokens per day exceeded" + ofKey},
		{"the rest beside such an endpoint", "limit 1/24h\nendpoint /chat {\ncharge usage\n}", "/?user=a&tokens=1", 1, "Rate limit of 1 token per day exceeded"},
		{"an endpoint with a cost", "limit 1000/24h\ncharge usage\nendpoint / {\nlimit 30/24h\ncost 20\n}", "/?user=a&tokens=1", 1,
			"Rate limit of 30 requests per day exceeded at /: this request counts as 20, with 10 left"},
		{"a tier", "tier {header.X-Tier} trusted {\nfree 1000/24h\ndefault free\n}\ncharge usage", "/?user=a&tokens=190", 5, "Rate limit of 1000 tokens per day exceeded" + ofKey},
		{"without a key", "limit 1/24h\non_missing_key {client_ip} 1000/24h\ncharge usage", "/?tokens=190", 5, "Rate limit of 1000 tokens per day exceeded" + ofKey},
	} {
		for style, member := range map[string]string{"json": "message", "problem": "detail"} {
			t.Run(tc.name+" "+style, func(t *testing.T) {
				g := serve(t, fmt.Sprintf("rate_limit {\nreject %s\nzone z {\nkey {query.user}\n%s\n}\n}\nreverse_proxy %s", style, tc.zone, addr))
				for range tc.times {
					g.get(tc.path).is(200)
				}
				_, _ = g.charges()
				g.get(tc.path).is(429).says(fmt.Sprintf(`"%s":"%s"`, member, tc.want))
			})
		}
	}
}
