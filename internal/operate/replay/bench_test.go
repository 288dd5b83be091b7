package replay

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// BenchmarkRead reads a line for a zone by a header, with a tier and two endpoints.
func BenchmarkRead(b *testing.B) {
	z, err := Load(site(`"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m",
		"tier":{"placeholder":"{http.request.header.X-Tier}","trusted":true,"tiers":{"pro":"40/1m"}},
		"endpoints":[{"path":"/v1/export","limit":"5/1m"},{"path":"/v1/heavy","cost":5}]}}`), "user", Options{})
	if err != nil {
		b.Fatal(err)
	}
	format := logs.NewJSON(logs.CaddyFields, z)
	text := []byte(line("GET", "/v1/items/4711?page=2", `"headers":{"X-Api-Key":["key-17"],"User-Agent":["Mozilla/5.0 (X11; Linux x86_64)"],"X-Tier":["pro"]}`))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := format.Record(text); err != nil {
			b.Fatal(err)
		}
	}
}
