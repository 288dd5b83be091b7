package config

import (
	"strings"
	"testing"
)

// TestEndpointErrorsHaveTheirLine parses a zone whose endpoints begin on the fifth line.
func TestEndpointErrorsHaveTheirLine(t *testing.T) {
	for _, tc := range []struct{ endpoints, want string }{
		{"endpoint /a 1/s\nendpoint /A 1/s", "endpoint /a is already specified at Caddyfile:5: use it once, at Caddyfile:6"},
		{"endpoint GET /a 1/s\nendpoint GET,HEAD /a 1/s", "endpoint GET /a is already specified at Caddyfile:5"},
		{"endpoint /a /b 1/s", "one `endpoint` for each"},
		{"endpoint * /b 1/s", "no method for all methods"},
		{"endpoint /a get 1/s", "use `endpoint GET /a`, at Caddyfile:5"},
		{"endpoint /a limit 1/s", "use the rate without it"},
		{"endpoint /a[ 1/s", "at Caddyfile:5"},
		{"endpoint GET, /a 1/s", "use `endpoint GET /a`, at Caddyfile:5"},
	} {
		err := parseZones(t, "zone api {\nkey k\nlimit 9/s\n"+tc.endpoints+"\n}")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want one with %q", tc.endpoints, err, tc.want)
		}
	}
}
