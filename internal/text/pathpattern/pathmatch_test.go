package pathpattern

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
)

func parse(t testing.TB, path string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// All handlers of a request get one Path, which has the readings and the matches. A handler may rewrite
// the request before the next handler reads its path.
func TestReadingsAreFoundOnceForARequest(t *testing.T) {
	for _, path := range []string{"/a%2fb;c//d", "/a/../b", "//h/a%2fb;c//d"} {
		vars := make(map[string]any)
		var mine, others Path
		first, failed := mine.Read(parse(t, path), vars)
		if rewritten, err := others.Read(parse(t, "/x;y"), vars); err != nil || rewritten == first {
			t.Errorf("%s: after a rewrite the path is the same, %v", path, err)
		}
		again, err := others.Read(parse(t, path), vars)
		if again != first || err != failed {
			t.Errorf("%s: another handler reads the path again, %v and %v", path, failed, err)
		}
		if other, _ := others.Read(parse(t, path), make(map[string]any)); other == first {
			t.Errorf("%s: another request has the same path", path)
		}
	}
}

// A pattern is matched once in a request, also if several endpoints and matchers have it.
func TestPatternsAreMatchedOnce(t *testing.T) {
	path, err := new(Path).Read(parse(t, "/users/a%2fb;c/posts"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for i := range 20 {
			p := Compile(fmt.Sprintf("/users/*/posts%d", i/2))
			path.Matching(&p)
			p = Compile("/users/*")
			path.Matching(&p)
		}
	}
	if got := len(path.matched); got != 10 {
		t.Errorf("%d patterns were matched, want 10: of 60 two each are equal, and a prefix needs no more time than a search", got)
	}
	endpoint, ok := Matcher("/users/*/posts", false)
	if matching := path.Matching(&endpoint); !ok || matching == 0 || matching == path.All() {
		t.Errorf("readings %b match, want some of %b", matching, path.All())
	}
}

// The pattern of a matcher matches a reading if Caddy matches the request with that reading.
func TestMatchersMatchAsCaddyDoes(t *testing.T) {
	patterns := []string{
		"/a", "/a/", "/a/b", "/a//b", "//a", "/a*", "/a/*", "*b", "*/b", "*a*", "*//*", "/*/b", "/a/*/c", "/[ab]", "/?/b", "*", "/a;x", "/A/B",
		"/index.php", "/a/b/*", "/*//b", "/é*",
	}
	paths := []string{
		"/", "/a", "/a/", "/a//", "//a", "//a//b/", "/a%2fb", "/a;x/b", "/a%3bx", "/a/b;c", "/a%2f%2fb", "/%C3%89x", "/a/x/c", "/index.php/a",
		"///a/b", "/a%3fb/c", "/A//B",
	}
	matched := 0
	for _, p := range paths {
		read, err := new(Path).Read(parse(t, p), nil)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		for _, text := range patterns {
			pattern, ok := Matcher(text, true)
			if !ok {
				t.Fatalf("%s is no pattern", text)
			}
			var got, want []int
			for i := range read.All().Backward {
				u := parse(t, p)
				if read.Put(i, u); caddyMatches(text, u) {
					want = append(want, i)
				}
			}
			for i := range read.Matching(&pattern).Backward {
				got = append(got, i)
			}
			if matched += len(want); !slices.Equal(got, want) {
				t.Errorf("%s matches readings %v of %s, Caddy says %v", text, got, p, want)
			}
		}
	}
	if matched < 100 {
		t.Errorf("%d readings match, want 100 or more", matched)
	}
	for _, text := range []string{"/{http.vars.x}", "/a%2fb", "/a%*b"} {
		if _, ok := Matcher(text, text == "/a%*b"); ok {
			t.Errorf("%s is compiled, want it left to Caddy", text)
		}
	}
}
