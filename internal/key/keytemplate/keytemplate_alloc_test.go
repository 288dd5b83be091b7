//go:build !race

package keytemplate

import "testing"

// The race detector allocates, so this test runs without it.
func TestAppendDoesNotAllocate(t *testing.T) {
	r, repl := keyRequest("2001:db8::1", "X-Api-Key", "sk_live_0123456789", "X-Forwarded-Host", "192.0.2", "X-Real-Ip",
		"2001:db8::7")
	dst := make([]byte, 0, 128)
	all := Options{IPv4Prefix: 24, IPv6Prefix: 64, MaskAll: true}
	for _, tc := range []struct {
		raw string
		o   Options
	}{
		{"all", defaults},
		{"{http.request.header.X-Api-Key}", defaults},
		{"{http.request.header.X-Api-Key}", all},
		{"{header.X-Real-IP}", Options{IPv4Prefix: 32, IPv6Prefix: 64, MaskHeaders: true}},
		{"{client_ip}", defaults},
		{"{remote_host}", defaults},
		{"{http.vars.plan}", defaults},
		{"{http.request.host}{http.request.method}{http.request.uri.path}", defaults},
		{"{http.request.header.X-Api-Key}:{client_ip}:{http.vars.plan}", defaults},
	} {
		tmpl := mustTemplate(t, tc.raw, tc.o)
		if got := testing.AllocsPerRun(1000, func() { dst, _, _ = tmpl.Append(dst[:0], r, repl) }); got != 0 {
			t.Errorf("allocations per Append of %q = %v, want 0", tc.raw, got)
		}
		if len(dst) == 0 {
			t.Errorf("Append of %q made no key", tc.raw)
		}
	}
}
