package reach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// hosts and paths are for matchers, and also for requests. Some of them are plain.
var (
	hosts = []string{
		"a.example", "A.example", "k.example", "\u212a.example", "*.example", "b.*", "127.0.0.1", "::1", "{http.vars.host}", `\{a`, "a}", `a\}`,
		"bücher.example",
	}
	requestHosts = append([]string{
		"a.example:80", "[::1]:443", "[::1]", "a.example:", "[a.example]", ":80", "a:b:c", "xn--bcher-kva.example", "{a", "a}", "",
	}, hosts...)
	paths = []string{
		"*", "/", "/a", "/A", "/a*", "/a/*", "/a/b", "/a/b*", "*b", "*a*", "/a/*/c", "/a*b*", "/[ab]", "/?", `/\a`, "/a//b", "/a//*", "/a%2fb",
		"/a%20*", "/{http.vars.path}", "/k*", "/\u212a", "/é*", "a*", "", "/a/", "/a/*b", "/a\\*",
	}
	requestPaths = append([]string{
		"/a/b/c", "//a", "/a//b", "/./a", "/a/../b", "/a/b/", "/a b", "/\\a", "/kx", "/É", "a", "/b", "/x", "/ab", "/A/B/C", "/a.", "/a/ ",
	}, paths...)
)

// A choice makes random matchers and requests. With one seed, it always makes equal ones.
type choice struct{ *rand.Rand }

func (c choice) of(texts []string) string { return texts[c.IntN(len(texts))] }

func (c choice) some(texts []string) (some []string) {
	for range 1 + c.IntN(2) {
		if text := c.of(texts); !slices.Contains(some, text) {
			some = append(some, text)
		}
	}
	return some
}

// failing is a matcher that cannot decide.
type failing struct{}

func (failing) MatchWithError(*http.Request) (bool, error) { return false, errors.New("no decision") }

// paths returns a provisioned matcher of paths.
func (c choice) paths(tb testing.TB) *caddyhttp.MatchPath {
	m := caddyhttp.MatchPath(c.some(paths))
	if err := m.Provision(caddy.Context{}); err != nil {
		tb.Fatal(err)
	}
	return &m
}

// set returns a set of provisioned matchers.
func (c choice) set(tb testing.TB) (set caddyhttp.MatcherSet) {
	for range c.IntN(3) {
		switch c.IntN(8) {
		case 0, 1, 2:
			set = append(set, c.paths(tb))
		case 3, 4:
			m := caddyhttp.MatchHost(c.some(hosts))
			if m.Provision(caddy.Context{}) != nil {
				continue // two spellings of one host
			}
			set = append(set, &m)
		case 5:
			set = append(set, &caddyhttp.MatchMethod{"GET"})
		case 6:
			set = append(set, &caddyhttp.MatchNot{MatcherSets: caddyhttp.MatcherSets{c.set(tb)}})
		case 7:
			set = append(set, failing{})
		}
	}
	return set
}

func (c choice) lists(tb testing.TB, n int) []caddyhttp.MatcherSets {
	lists := make([]caddyhttp.MatcherSets, n)
	for i := range lists {
		switch c.IntN(3) {
		case 0:
			lists[i] = caddyhttp.MatcherSets{{c.paths(tb)}}
		case 1:
			for range c.IntN(3) {
				lists[i] = append(lists[i], c.set(tb))
			}
		case 2: // so that many lists are plain
			lists[i] = caddyhttp.MatcherSets{{&caddyhttp.MatchPath{fmt.Sprint("/plain", i)}}}
		}
	}
	return lists
}

func request(host, path string) *http.Request {
	repl := caddy.NewReplacer()
	repl.Set("http.vars.host", "a.example")
	repl.Set("http.vars.path", "A")
	ctx := context.WithValue(context.Background(), caddy.ReplacerCtxKey, repl)
	return (&http.Request{Method: http.MethodGet, Host: host, URL: &url.URL{Path: path}, Header: http.Header{}}).WithContext(ctx)
}

// FuzzIndex compares an index with all lists, asked in turn. The index must find each list that
// matches.
func FuzzIndex(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, "a.example", "/a/b")
	}
	f.Fuzz(func(t *testing.T, seed uint64, host, path string) {
		c := choice{rand.New(rand.NewPCG(seed, 0))}
		lists := c.lists(t, 8)
		x := NewIndex(lists)
		if x == nil {
			return
		}
		for i := range 40 {
			if i > 0 {
				host, path = c.of(requestHosts), c.of(requestPaths)
			}
			r := request(host, path)
			found, all := x.Append([]int{-1}, r, nil)
			if all {
				continue
			}
			if found[0] != -1 || !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) {
				t.Fatalf("found = %v, want what was there and then ascending numbers", found)
			}
			for i, sets := range lists {
				if matches, err := sets.AnyMatchWithError(r); (matches || err != nil) && !slices.Contains(found, i) {
					t.Errorf("list %d matches %q %q and is not found: %v", i, host, path, sets)
				}
			}
		}
	})
}

// An index finds only those plain lists that match.
func TestIndexFindsPlainLists(t *testing.T) {
	lists := make([]caddyhttp.MatcherSets, 0, 300)
	for i := range 100 {
		lists = append(lists,
			caddyhttp.MatcherSets{{&caddyhttp.MatchPath{fmt.Sprintf("/a%d/*", i)}}},
			caddyhttp.MatcherSets{{&caddyhttp.MatchPath{"/api/*"}, &caddyhttp.MatchHost{fmt.Sprintf("h%d.example", i)}}},
			caddyhttp.MatcherSets{{&caddyhttp.MatchHost{"shop.example"}, &caddyhttp.MatchPath{fmt.Sprintf("/b%d", i), fmt.Sprintf("/b/%d/*", i)}}},
		)
	}
	x := NewIndex(lists)
	for _, tc := range []struct {
		host, path string
		want       []int
	}{
		{"other.example", "/A7/x", []int{21}},
		{"H7.example:80", "/api/x", []int{22}},
		{"shop.example", "/b7", []int{23}},
		{"shop.example", "/a7/../b7", []int{23}},
		{"h1.example", "/a2/x", []int{4, 6}},
		{"other.example", "/x", nil},
	} {
		if got, all := x.Append(nil, request(tc.host, tc.path), nil); all || !slices.Equal(got, tc.want) {
			t.Errorf("lists of %s%s = %v (all: %v), want %v", tc.host, tc.path, got, all, tc.want)
		}
	}
	if _, all := x.Append(nil, request("\u212a.example", "/"), nil); !all {
		t.Error("a host beyond ASCII is compared, want all lists")
	}
	if NewIndex([]caddyhttp.MatcherSets{nil, {{}}, {{&caddyhttp.MatchPath{"/a"}}}}) != nil {
		t.Error("lists that may mostly match any request have an index, want none")
	}
}
