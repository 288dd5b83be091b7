package pathpattern

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDisjoint(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"/login", "/api/*", true}, {"/api/login", "/api/*", false}, {"/api", "/api/*", false}, {"/api", "/apis", true},
		{"/a", "/a/", false}, {"/a/*", "/b/*", true}, {"/a*", "/ab/*", false}, {"*.json", "/a", false}, {"*", "/a", false},
		{"/v?/a", "/v1/a", false}, {"/a%20b", "/c", false}, {"/{x}", "/c", false}, {"/users/*/posts", "/orders/*", true},
	} {
		if got := Disjoint(tc.a, tc.b); got != tc.want {
			t.Errorf("Disjoint(%q, %q) = %v, want %v", tc.a, tc.b, got, tc.want)
		}
		if got := Disjoint(tc.b, tc.a); got != tc.want {
			t.Errorf("Disjoint(%q, %q) = %v, want %v", tc.b, tc.a, got, tc.want)
		}
	}
}

// TestDisjointIsCertain looks for two patterns that are reported as disjoint, and for a path that matches
// both in Caddy.
func TestDisjointIsCertain(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(letters string) string {
		b := make([]byte, 1+random.IntN(5))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return "/" + string(b)
	}
	disjoint := 0
	for range 20_000 {
		a, b := word("ab/*?"), word("ab/*?")
		if !Disjoint(a, b) {
			continue
		}
		disjoint++
		for range 20 {
			if p := word("ab/"); match(a, p) && (match(b, p) || match(b, strings.TrimRight(p, "/"))) {
				t.Fatalf("Disjoint(%q, %q), but both match %q", a, b, p)
			}
		}
	}
	if disjoint < 500 {
		t.Errorf("%d pairs were disjoint, want 500 or more", disjoint)
	}
}
