package keytemplate

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A worstCase is a kind of key, a function that writes it to a request, and the texts that are known to
// cost most.
type worstCase struct {
	name     string
	template string
	options  Options
	write    func(r *http.Request, text string)
	plain    string
	patterns []string // repeated to the length of a header
}

var worstCases = []worstCase{
	{"query", "{http.request.uri.query.key}", defaults, func(r *http.Request, text string) { r.URL.RawQuery = text },
		"q=shoes&page=2&sort=price&limit=20&lang=en&key=sk_live_0123456789",
		[]string{"&", "a&", "k&", "ke&", "kex&", "keyx&", "kex;", "!k&", "%6b&", "%6be&", "%41", "%21", "!", "+", ";", "k;", "%", "\xe2\x84", "%e2%84", "\xaa", "[", "[k"}},
	{"query value", "{http.request.uri.query.key}", defaults, func(r *http.Request, text string) { r.URL.RawQuery = "key=" + text },
		"sk_live_0123456789", []string{"a", "%41", "%41+", "%", "="}},
	{"cookie", "{http.request.cookie.key}", defaults, func(r *http.Request, text string) { r.Header["Cookie"] = []string{text} },
		"theme=dark; lang=en; consent=yes; key=0123456789abcdef",
		[]string{";", "a;", "k;", "ke;", "kex;", "keyx;", "!k;", "%6b;", "%41", "%41=;", "%21", "!", " ", "k ", "k,", "k=,", "kex=,", "!,", "=", "a=k ", `"`, `"";`, "\xe2\x84", "\xaa", "[", "[k"}},
	{"cookie value", "{http.request.cookie.key}", defaults, func(r *http.Request, text string) { r.Header["Cookie"] = []string{"key=" + text} },
		"0123456789abcdef", []string{"a", "%41", "%4", "k,", "k=,", "kex=,", "\"\""}},
	{"header", "{http.request.header.A}", defaults, func(r *http.Request, text string) { r.Header["A"] = []string{text} },
		"sk_live_0123456789", []string{"a", " ", "a "}},
	{"connection", "{http.request.header.X-Api-Key}", defaults, func(r *http.Request, text string) {
		r.Header["X-Api-Key"], r.Header["Connection"] = []string{"a"}, []string{text}
	},
		"keep-alive", []string{",", "x-api-kez,", " ", "         ,"}},
	{"list", "{http.request.header.X-Forwarded-For}", Options{IPv4Prefix: 32, IPv6Prefix: 64, MaskHeaders: true}, func(r *http.Request, text string) {
		r.Header["X-Forwarded-For"] = []string{text[:len(text)/2], text[len(text)/2:]}
	}, "192.0.2.1,192.0.2.2", []string{"a", ",", "1:", "1."}},
	{"address", "{http.request.header.X-Real-Ip}", Options{IPv4Prefix: 32, IPv6Prefix: 64, MaskHeaders: true},
		func(r *http.Request, text string) { r.Header["X-Real-Ip"] = []string{text} },
		"192.0.2.1", []string{"1", ":", "1:", "1.", "[", "%"}},
	{"host", "{http.request.host}", defaults, func(r *http.Request, text string) { r.Host = text }, "api.example.com:443",
		[]string{"a", "A", ".", "a.", ":", "["}},
	{"label", "{http.request.host.labels.0}", defaults, func(r *http.Request, text string) { r.Host = text }, "api.example.com",
		[]string{"A", "aA", "\xc3\x89", ".", "a."}},
	{"path", "{http.request.uri.path}", defaults, func(r *http.Request, text string) { r.URL.Path = text }, "/v1/items", []string{"/", " "}},
}

// repeat returns pattern, repeated and cut to n bytes.
func repeat(pattern string, n int) string { return strings.Repeat(pattern, n/len(pattern)+1)[:n] }

// requestsOf calls f for each text of each worst case. The texts have n bytes.
func requestsOf(tb testing.TB, n int, f func(name string, appendKey func())) {
	for _, c := range worstCases {
		tmpl := mustTemplate(tb, c.template, c.options)
		texts := map[string]string{"plain": c.plain}
		for _, pattern := range c.patterns {
			texts[fmt.Sprintf("%q", pattern)] = repeat(pattern, n)
		}
		for name, text := range texts {
			r, repl := keyRequest("192.0.2.1")
			c.write(r, text)
			dst := make([]byte, 0, 2*n)
			f(c.name+"/"+name, func() { _, _, _ = tmpl.Append(dst, r, repl) })
		}
	}
}

// Append takes time linear in the length of what a client writes: milliseconds for a megabyte. In
// quadratic time, a megabyte would take minutes.
func TestWorstHeadersTakeLinearTime(t *testing.T) {
	requestsOf(t, 1<<20, func(name string, appendKey func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			appendKey()
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: a megabyte is not read after a minute", name)
		}
	})
}

func BenchmarkWorstHeader(b *testing.B) {
	requestsOf(b, 16<<10, func(name string, appendKey func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				appendKey()
			}
		})
	})
}

// BenchmarkFloor measures the least cost of a reader of a header: it looks at each byte once, and makes
// the digest of a long value.
func BenchmarkFloor(b *testing.B) {
	text := repeat("k=,", 16<<10)
	b.Run("bytes", func(b *testing.B) {
		marks := 0
		for b.Loop() {
			for i := range len(text) {
				if cookieBytes[text[i]]&cookieMark != 0 {
					marks++
				}
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			bound(nil, []byte(text))
		}
	})
}
