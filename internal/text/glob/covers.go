package glob

import "strings"

// Covers reports whether wide matches every text that narrow matches. True is certain. It may return
// false by mistake if a pattern has a `?` beside other wildcards.
func Covers(wide, narrow string) bool {
	w, n := []rune(sorted(wide)), []rune(sorted(narrow))
	// This matches w against n as against a text, in which a * is a character that only a * of w
	// matches. star is the index of the last * in w, and from is where its match ends in n.
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

// sorted returns a pattern that matches the same texts. Where wildcards are adjacent, it has each `?`
// first, and then one `*`.
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

// Covers returns a pattern of g that matches every text that pattern matches. covered is false if g has
// none.
func (g Set) Covers(pattern string) (by string, covered bool) {
	if _, found := g.exact[pattern]; found {
		return pattern, true
	}
	for _, p := range g.patterns {
		start, _, _ := strings.Cut(p[0], "?")
		if !strings.HasPrefix(pattern, start) {
			continue // nearly all pairs of patterns end here
		}
		if wide := strings.Join(p, "*"); Covers(wide, pattern) {
			return wide, true
		}
	}
	return "", false
}
