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

// An Index finds which of many lists of matchers may match a request, without asking each. It is
// immutable.
//
// It reads the matchers of paths and hosts that are plain: a path in full, a path that begins with
// a text, a host in full. It finds a list for each request that the list matches, and also for some
// that the list does not match, so the caller asks the matchers then. Lists with other forms are found
// for all requests: placeholders, other wildcards, negations, and whatever may set a value or return
// an error.
type Index struct {
	always   []int // those of lists that may match any request
	byKey    map[indexKey][]int
	prefixes []int // the lengths of the prefixes in byKey
}

// An indexKey is what a plain matcher needs of a request.
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

// NewIndex returns an index of lists. It returns nil if most of them may match any request.
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

// Append appends the numbers of the lists that may match a request with a reading of its path, in
// order. all reports that the index does not know, so that each list may. If path is nil, the request
// is read as Caddy reads it.
func (x *Index) Append(numbers []int, r *http.Request, path *pathpattern.Path) (_ []int, all bool) {
	start := len(numbers)
	numbers = append(numbers, x.always...)
	reqHost := hostOf(r)
	if !isASCII(reqHost) { // Caddy compares hosts without case, beyond ASCII too
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

// appendAt appends the numbers of the lists that need a path, or a prefix of it.
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

// keysOf returns keys of which a request has one if the sets match it. Of host and path it takes
// what fewer lists have. plain is false if there are no such keys.
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

// hasEffects reports whether a matcher may do more than to match. Of those that it does not know it
// may.
func hasEffects(matcher any) bool {
	switch matcher.(type) {
	case *caddyhttp.MatchHost, *caddyhttp.MatchPath, *caddyhttp.MatchMethod, *caddyhttp.MatchProtocol:
		return false
	}
	return true
}

// plainKeys returns what the matchers of hosts, or of paths, of a set need, if all of it is plain.
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

// hostKey returns what a host needs of a request. Provisioned, it is ASCII in lower case.
func hostKey(host string) (k indexKey, plain bool) {
	return indexKey{wholeHost, host}, !strings.ContainsAny(host, "*{}")
}

// pathKey returns what a pattern needs of a path. Caddy compares patterns with `%` or `//` with other
// forms of the path, and on Windows it reads paths in another way.
func pathKey(pattern string) (k indexKey, plain bool) {
	if strings.ContainsAny(pattern, "{%") || strings.Contains(pattern, "//") || runtime.GOOS == "windows" {
		return k, false
	}
	if prefix, is := strings.CutSuffix(pattern, "*"); is {
		return indexKey{pathPrefix, prefix}, !strings.Contains(prefix, "*")
	}
	return indexKey{wholePath, pattern}, !strings.ContainsAny(pattern, `*?[\`)
}

// hostOf returns the host of a request as Caddy's matcher reads it.
func hostOf(r *http.Request) string {
	if strings.Contains(r.Host, ":") { // else SplitHostPort allocates an error
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
