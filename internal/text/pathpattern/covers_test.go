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

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		wide, narrow string
		want         bool
	}{
		{"*", "/a", true}, {"*", "*/a%20b", true}, {"/a", "/a", true}, {"/a", "*", false}, {"/a", "/b", false},
		{"/api/*", "/api/users", true}, {"/api/*", "/api/users/*/posts", true}, {"/api/*", "/api", false},
		{"/api*", "/api", true}, {"/api*", "/apis/x", true}, {"/api/users", "/api/*", false}, {"/api/*", "*/users", false},
		{"*.json", "/a.json", true}, {"*.json", "/a/*.json", true}, {"*.json", "/a.js", false}, {"*/admin/*", "/v1/admin/x", true},
		{"*/admin/*", "/v1/admin/*", true}, {"*/admin/*", "/v1/*/x", false},
		{"/users/*/posts", "/users/7/posts", true}, {"/users/*/posts", "/users/*/posts", true},
		{"/users/*/posts", "/users/7/8/posts", false}, {"/users/*/*", "/users/*/posts", true}, {"/users/*/posts", "/users/*", false},
		{"/users/*/*", "/users/7/*", false}, // the last * also matches /users/7/8/9
		{"/v?/a", "/v1/a", true}, {"/v1/a", "/v?/a", false}, {"/v*/a", "/v?/a", true}, {"/*", "/v?/a", true},
		{"/v?*", "/v1/a", false}, {"/a*", "/a%20b", false}, {"/a%2f*", "/a%2fb", false}, {"/[a-z]/x", "/a/x", false},
		{"/api/*", "/api/[a-z]/x", false}, {"/api/*", "/api//x", false}, {"/*", "/a;b", false}, {"/a%20b", "/a%20b", true},
	} {
		if got := Covers(tc.wide, tc.narrow); got != tc.want {
			t.Errorf("Covers(%q, %q) = %v, want %v", tc.wide, tc.narrow, got, tc.want)
		}
	}
}

// TestCoversIsCertain looks for patterns of which wide covers narrow, and for a path that, of Caddy's
// matchers, only that of narrow matches.
func TestCoversIsCertain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, 1+random.IntN(most))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	pattern := func() string {
		p := word("ab/*?", 6)
		if !Starts(p) {
			p = "/" + p
		}
		return p
	}
	covered := 0
	for range 20_000 {
		wide, narrow := pattern(), pattern()
		if len(wide) > 1 && strings.HasSuffix(wide, "/") || len(narrow) > 1 && strings.HasSuffix(narrow, "/") || !Covers(wide, narrow) {
			continue
		}
		covered++
		for range 20 {
			if p := "/" + word("ab/", 6); match(narrow, p) && !match(wide, p) {
				t.Fatalf("Covers(%q, %q), but only the second matches %q", wide, narrow, p)
			}
		}
	}
	if covered < 500 {
		t.Errorf("%d pairs were covered, want 500 or more", covered)
	}
}

func match(pattern, path string) bool {
	r := &http.Request{URL: &url.URL{Path: path}}
	r = r.WithContext(context.WithValue(context.Background(), caddy.ReplacerCtxKey, caddy.NewReplacer()))
	return caddyhttp.MatchPath{pattern}.Match(r)
}
