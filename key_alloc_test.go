//go:build !race

package fleetlimit

import "testing"

// The race detector allocates, so this one runs without it.
func TestTemplateAppendDoesNotAllocate(t *testing.T) {
	r, repl := keyRequest("2001:db8::1", "X-Api-Key", "sk_live_0123456789", "X-Forwarded-Host", "192.0.2")
	dst := make([]byte, 0, 128)
	all := templateOptions{ipv4Bits: 24, ipv6Bits: 64, maskAll: true, space: spaceKey}
	for _, tc := range []struct {
		raw string
		o   templateOptions
	}{
		{"all", defaultKeys},
		{"{http.request.header.X-Api-Key}", defaultKeys},
		{"{http.request.header.X-Api-Key}", all},
		{"{client_ip}", defaultKeys},
		{"{remote_host}", defaultKeys},
		{"{http.vars.plan}", defaultKeys},
		{"{http.request.host}{http.request.method}{http.request.uri.path}", defaultKeys},
		{"{http.request.header.X-Api-Key}:{client_ip}:{http.vars.plan}", defaultKeys},
	} {
		tmpl := mustTemplate(t, tc.raw, tc.o)
		if got := testing.AllocsPerRun(1000, func() { dst, _, _ = tmpl.append(dst[:0], r, repl) }); got != 0 {
			t.Errorf("allocations per append of %q = %v, want 0", tc.raw, got)
		}
		if len(dst) == 0 {
			t.Errorf("append of %q made no key", tc.raw)
		}
	}
}
