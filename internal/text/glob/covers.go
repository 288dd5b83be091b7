package glob

import "strings"

// Covers reports whether wide matches every text that narrow matches. It is certain when it says
// so, and may miss it for patterns that put `?` beside other wildcards.
func Covers(wide, narrow string) bool {
	w, n := []rune(sorted(wide)), []rune(sorted(narrow))
	// The usual match of a pattern against a text: star is the last * of w, and from is where it
	// ends in n. A * of narrow is a character that only a * of wide matches.
	star, from, i := -1, 0, 0
	for j := 0; j < len(n); {
		switch {
		case i < len(w) && w[i] == '*':
			star, from = i, j
			i++
		case i < len(w) && (w[i] == n[j] || w[i] == '?' && n[j] != '*'):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(w[i:]), "*") == ""
}

// sorted returns an equal pattern in which adjacent wildcards have one order: each `?`, then one
// `*`.
func sorted(pattern string) string {
	var b strings.Builder
	stars := false
	for _, c := range pattern {
		if c == '*' {
			stars = true
			continue
		}
		if stars && c != '?' {
			b.WriteByte('*')
			stars = false
		}
		b.WriteRune(c)
	}
	if stars {
		b.WriteByte('*')
	}
	return b.String()
}

// Covers returns a pattern of g that matches every text that pattern matches.
func (g Set) Covers(pattern string) (by string, covered bool) {
	if _, found := g.exact[pattern]; found {
		return pattern, true
	}
	for _, p := range g.patterns {
		start, _, _ := strings.Cut(p[0], "?")
		if !strings.HasPrefix(pattern, start) {
			continue // as nearly all of many patterns, which are compared with each other
		}
		if wide := strings.Join(p, "*"); Covers(wide, pattern) {
			return wide, true
		}
	}
	return "", false
}
