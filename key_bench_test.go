package fleetlimit

import "testing"

func TestTemplateAppendDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
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

func BenchmarkTemplateAppend(b *testing.B) {
	r, repl := keyRequest("2001:db8::1", "X-Api-Key", "sk_live_0123456789")
	templates := []struct{ name, raw string }{
		{"static", "all"},
		{"header", "{http.request.header.X-Api-Key}"},
		{"client_ip", "{http.vars.client_ip}"},
		{"both", "{http.request.header.X-Api-Key}:{http.vars.client_ip}"},
	}
	for _, tc := range templates {
		b.Run("key="+tc.name+"/impl=template", func(b *testing.B) {
			tmpl := mustTemplate(b, tc.raw, defaultKeys)
			dst := make([]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				dst, _, _ = tmpl.append(dst[:0], r, repl)
			}
		})
		b.Run("key="+tc.name+"/impl=replacer", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				repl.ReplaceAll(tc.raw, "")
			}
		})
	}
}
