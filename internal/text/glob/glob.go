// Package glob matches texts against patterns in time linear in the length of the text.
package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Set is a set of patterns. In a pattern, `*` matches any run of characters, including none, and
// `?` matches one character. Every other character matches itself. The zero value matches nothing.
type Set struct {
	exact    map[string]struct{} // patterns without a wildcard
	patterns []pattern
}

// A pattern is the pieces of a pattern between its `*`s. It has at least one piece.
type pattern []string

// Parse compiles patterns.
func Parse(patterns []string) (Set, error) {
	var g Set
	for _, p := range patterns {
		if err := g.Add(p); err != nil {
			return Set{}, err
		}
	}
	return g, nil
}

// Add adds a pattern to the set.
func (g *Set) Add(p string) error {
	switch {
	case p == "":
		return errors.New(`an empty pattern matches no key: use one such as sk_internal_*, or "*" for all keys`)
	case !utf8.ValidString(p):
		return fmt.Errorf("the pattern %q is not UTF-8: save the file as UTF-8", p)
	case strings.ContainsAny(p, "*?"):
		g.patterns = append(g.patterns, strings.Split(p, "*"))
	default:
		if g.exact == nil {
			g.exact = make(map[string]struct{})
		}
		g.exact[p] = struct{}{}
	}
	return nil
}

// Empty reports whether the set has no patterns.
func (g Set) Empty() bool { return len(g.exact) == 0 && len(g.patterns) == 0 }

// Match reports whether a pattern matches all of s.
func (g Set) Match(s string) bool {
	if _, ok := g.exact[s]; ok {
		return true
	}
	for _, p := range g.patterns {
		if p.match(s) {
			return true
		}
	}
	return false
}

// match matches each piece at the first place where it fits, which leaves most text for the pieces that
// follow. It never backtracks, so its time is linear in the length of s. If a piece has a `?`, the time
// also grows with the length of that piece.
func (g pattern) match(s string) bool {
	first, last := g[0], g[len(g)-1]
	n := fits(s, first)
	if n < 0 {
		return false
	}
	if len(g) == 1 {
		return n == len(s)
	}
	s = s[n:]
	for _, p := range g[1 : len(g)-1] {
		if n = find(s, p); n < 0 {
			return false
		}
		s = s[n:]
	}
	tail, ok := lastChars(s, utf8.RuneCountInString(last))
	return ok && fits(tail, last) == len(tail)
}

// fits returns the length in bytes of the prefix of s that the piece p matches. It returns -1 if p
// matches no prefix.
func fits(s, p string) int {
	n := 0
	for i := 0; i < len(p); {
		if n == len(s) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(p[i:])
		if p[i] == '?' {
			_, width := utf8.DecodeRuneInString(s[n:])
			n += width
		} else {
			if !strings.HasPrefix(s[n:], p[i:i+size]) {
				return -1
			}
			n += size
		}
		i += size
	}
	return n
}

// find returns the index in s after the first match of the piece p. It returns -1 if p does not match.
func find(s, p string) int {
	if !strings.Contains(p, "?") {
		i := strings.Index(s, p)
		if i < 0 {
			return -1
		}
		return i + len(p)
	}
	for from := 0; ; {
		if n := fits(s[from:], p); n >= 0 {
			return from + n
		}
		if from == len(s) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(s[from:])
		from += size
	}
}

// lastChars returns the last n characters of s. ok is false if s has fewer.
func lastChars(s string, n int) (tail string, ok bool) {
	at := len(s)
	for range n {
		if at == 0 {
			return "", false
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:], true
}
