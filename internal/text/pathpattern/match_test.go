package pathpattern

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// plain is a path with one reading.
type plain string

func (p plain) Path() string    { return string(p) }
func (p plain) Merged() string  { return string(p) }
func (p plain) Escaped() string { return string(p) }

// TestMatchesAsCaddyDoes compares patterns with Caddy's matcher on paths that need no cleaning.
func TestMatchesAsCaddyDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(pieces []string, most int) string {
		var b strings.Builder
		b.WriteByte('/')
		for range 1 + random.IntN(most) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	patterns := []string{"a", "b", "É", "ab", "/", "/", "*", "*", "?", "[ab]", `\a`, ".", "-", "%20", "%41", "%c3%a9", "%*"}
	paths := []string{"a", "b", "A", "%20", "%C3%A9", "ab", "/", "/", ".b", "-", "%2A"}
	compared, matched := 0, 0
	for range 40_000 {
		pattern, escaped := pick(patterns, 6), pick(paths, 6)
		if random.IntN(4) == 0 {
			pattern = "*" + pattern[1:]
		}
		u, err := url.ParseRequestURI(escaped)
		if err != nil {
			t.Fatal(err)
		}
		// Paths with double slashes have several readings. A pattern of an endpoint ignores a slash at
		// the end.
		ordinary := !strings.Contains(escaped, "//") && !strings.HasSuffix(escaped, "/")
		if Check(pattern) != nil || !ordinary || strings.HasSuffix(pattern, "/") || strings.Contains(pattern, "//") {
			continue
		}
		compiled := Compile(pattern)
		got, want := compiled.Match(plain(strings.ToLower(u.Path))), caddyMatches(pattern, u)
		if got != want && !deliberate(pattern, escaped, got) {
			t.Fatalf("%q matches %q: %v, Caddy says %v", pattern, escaped, got, want)
		}
		compared++
		if want {
			matched++
		}
	}
	if compared < 2000 || matched < 200 {
		t.Errorf("%d comparisons, %d matches, want 2000 and 200 or more", compared, matched)
	}
}

// deliberate reports whether a pattern may differ from Caddy's matcher. A pattern with an encoded
// character means that character, however the client writes it, so it may match more. In such a
// pattern, Caddy compares what a * stands for partly in the client's spelling, so for Caddy, /%*a
// matches /%2A.
func deliberate(pattern, escaped string, matches bool) bool {
	encoded := strings.Contains(pattern, "%")
	return encoded && (matches || strings.Contains(pattern, "*") && strings.Contains(escaped, "%"))
}

func caddyMatches(pattern string, u *url.URL) bool {
	r := &http.Request{URL: u}
	r = r.WithContext(context.WithValue(context.Background(), caddy.ReplacerCtxKey, caddy.NewReplacer()))
	m := caddyhttp.MatchPath{pattern}
	if err := m.Provision(caddy.Context{}); err != nil {
		return false
	}
	return m.Match(r)
}
