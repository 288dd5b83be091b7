package reach

import (
	"cmp"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

// An Index finds the lists of matchers that may match a request, among many lists, and without asking
// each of them. It is immutable.
//
// An Index reads only plain matchers: of a whole path, of a path that begins with a text, and of a
// whole host. It finds each list that matches a request, and also some lists that do not, so the caller
// then asks the matchers of each list that it finds. A list is found for every request if it has other
// matchers: placeholders, other wildcards, negations, and matchers that may set a value or return an
// error.
type Index struct {
	always   []int // indexes of the lists that may match any request
	byKey    map[indexKey][]int
	prefixes []int // the lengths of all prefixes in byKey
}

// An indexKey is a property of a request that a plain matcher needs.
type indexKey struct {
	kind indexKeyKind
	text string
}

type indexKeyKind uint8

const (
	wholeHost  indexKeyKind = iota // the host is the text
	wholePath                      // the path is the text
	pathPrefix                     // the path begins with the text
)

// NewIndex returns an index of lists. It returns nil if most of the lists may match any request.
func NewIndex(lists []caddyhttp.MatcherSets) *Index {
	uses := make(map[indexKey]int)
	for _, sets := range lists {
		for _, set := range sets {
			for _, k := range slices.Concat(hostKeys(set), pathKeys(set)) {
				uses[k]++
			}
		}
	}
	x := &Index{byKey: make(map[indexKey][]int)}
	for i, sets := range lists {
		keys, plain := keysOf(sets, uses)
		if !plain {
			x.always = append(x.always, i)
			continue
		}
		for _, k := range keys {
			x.byKey[k] = append(x.byKey[k], i)
			if k.kind == pathPrefix && !slices.Contains(x.prefixes, len(k.text)) {
				x.prefixes = append(x.prefixes, len(k.text))
			}
		}
	}
	if len(x.always) > len(lists)/2 {
		return nil
	}
	slices.Sort(x.prefixes)
	return x
}

// Append appends the numbers of the lists that may match a request by some reading of its path, in
// order. all says that every list may match, as the index does not know. If path is nil, the path is
// read as Caddy reads it.
func (x *Index) Append(numbers []int, r *http.Request, path *pathpattern.Path) (_ []int, all bool) {
	start := len(numbers)
	numbers = append(numbers, x.always...)
	reqHost := hostOf(r)
	if !isASCII(reqHost) { // Caddy ignores the case of letters beyond ASCII too
		return numbers[:start], true
	}
	numbers = append(numbers, x.byKey[indexKey{wholeHost, strings.ToLower(reqHost)}]...)
	if path == nil {
		numbers = x.appendAt(numbers, caddyhttp.CleanPath(strings.ToLower(r.URL.Path), true))
	} else {
		for i := range path.All().Backward {
			numbers = x.appendAt(numbers, path.Merged(i))
		}
	}
	slices.Sort(numbers[start:])
	return numbers[:start+len(slices.Compact(numbers[start:]))], false
}

// appendAt appends the numbers of the lists that need this path, or a prefix of it.
func (x *Index) appendAt(numbers []int, path string) []int {
	numbers = append(numbers, x.byKey[indexKey{wholePath, path}]...)
	for _, n := range x.prefixes {
		if n > len(path) {
			break
		}
		numbers = append(numbers, x.byKey[indexKey{pathPrefix, path[:n]}]...)
	}
	return numbers
}

// keysOf returns keys of which each request that sets match has one. If a set has hosts and paths, keysOf
// takes the keys of those that fewer lists have: uses counts the lists by key. plain is false if there
// are no such keys.
func keysOf(sets caddyhttp.MatcherSets, uses map[indexKey]int) (keys []indexKey, plain bool) {
	for _, set := range sets {
		best := hostKeys(set)
		if paths := pathKeys(set); len(best) == 0 || len(paths) > 0 && mostUsed(paths, uses) < mostUsed(best, uses) {
			best = paths
		}
		if len(best) == 0 || slices.ContainsFunc(set, hasEffects) {
			return nil, false
		}
		keys = append(keys, best...)
	}
	slices.SortFunc(keys, func(a, b indexKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.text, b.text))
	})
	return slices.Compact(keys), len(sets) > 0
}

func mostUsed(keys []indexKey, uses map[indexKey]int) (most int) {
	for _, k := range keys {
		most = max(most, uses[k])
	}
	return most
}

// hasEffects reports whether a matcher may do more than match. It returns true for matchers that it
// does not know.
func hasEffects(matcher any) bool {
	switch matcher.(type) {
	case *caddyhttp.MatchHost, *caddyhttp.MatchPath, *caddyhttp.MatchMethod, *caddyhttp.MatchProtocol:
		return false
	}
	return true
}

// plainKeys returns the keys of the matchers of one kind, of hosts or of paths, in a set. It returns nil if
// the set has none, or one that is not plain.
func plainKeys[M ~[]string](
	set caddyhttp.MatcherSet, keyOf func(text string) (k indexKey, plain bool),
) (keys []indexKey) {
	for _, m := range set {
		texts, is := m.(*M)
		if !is {
			continue
		}
		for _, text := range *texts {
			k, plain := keyOf(text)
			if !plain {
				return nil
			}
			keys = append(keys, k)
		}
	}
	return keys
}

func hostKeys(set caddyhttp.MatcherSet) []indexKey {
	return plainKeys[caddyhttp.MatchHost](set, hostKey)
}

func pathKeys(set caddyhttp.MatcherSet) []indexKey {
	return plainKeys[caddyhttp.MatchPath](set, pathKey)
}

// hostKey returns the key of a host. A provisioned matcher has its hosts in ASCII and lower case.
func hostKey(host string) (k indexKey, plain bool) {
	return indexKey{wholeHost, host}, !strings.ContainsAny(host, "*{}")
}

// pathKey returns the key of a pattern. plain is false for a pattern with `%` or `//`, which Caddy
// compares with other forms of the path, and on Windows, where Caddy reads paths in another way.
func pathKey(pattern string) (k indexKey, plain bool) {
	if strings.ContainsAny(pattern, "{%") || strings.Contains(pattern, "//") || runtime.GOOS == "windows" {
		return k, false
	}
	if prefix, is := strings.CutSuffix(pattern, "*"); is {
		return indexKey{pathPrefix, prefix}, !strings.Contains(prefix, "*")
	}
	return indexKey{wholePath, pattern}, !strings.ContainsAny(pattern, `*?[\`)
}

// hostOf returns the host of a request as Caddy's matcher of hosts reads it.
func hostOf(r *http.Request) string {
	if strings.Contains(r.Host, ":") { // without a colon, SplitHostPort allocates an error
		if h, _, err := net.SplitHostPort(r.Host); err == nil {
			return h
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
