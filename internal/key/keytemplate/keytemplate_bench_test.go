package keytemplate

import "testing"

func BenchmarkAppend(b *testing.B) {
	r, repl := keyRequest("2001:db8::1", "X-Api-Key", "sk_live_0123456789")
	templates := []struct{ name, raw string }{
		{"static", "all"},
		{"header", "{http.request.header.X-Api-Key}"},
		{"client_ip", "{http.vars.client_ip}"},
		{"both", "{http.request.header.X-Api-Key}:{http.vars.client_ip}"},
	}
	for _, tc := range templates {
		b.Run("key="+tc.name+"/impl=template", func(b *testing.B) {
			tmpl := mustTemplate(b, tc.raw, defaults)
			dst := make([]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				dst, _, _ = tmpl.Append(dst[:0], r, repl)
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
