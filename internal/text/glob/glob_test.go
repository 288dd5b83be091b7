package glob

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, s string
		want       bool
	}{
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "anything\x00\xff", true},
		{"?", "", false},
		{"?", "é", true},
		{"?", "\xff", true},
		{"?", "ab", false},
		{"??", "é\xff", true},
		{"sk_*", "sk_", true},
		{"sk_*", "sk_1", true},
		{"sk_*", "xsk_1", false},
		{"*_internal", "a_internal", true},
		{"*_internal", "a_internal_b", false},
		{"*mid*", "a mid b", true},
		{"*mid*", "a mi d b", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1c2b", false},
		{"*ab*ab", "abab", true},
		{"*ab*ab", "ab", false},
		{"*ab*ab", "aab", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*?", "", false},
		{"*?", "a", true},
		{"?*?", "a", false},
		{"?*?", "ab", true},
		{"*a?c*", "aac abd abc!", true},
		{"*a?c*", "aab", false},
		{"*a??", "é aéé", true},
		{"**", "", true},
		{"a**b", "ab", true},
		{"[a-z]", "b", false},
		{"[a-z]", "[a-z]", true},
		{`\*`, `\anything`, true},
		{`\*`, "*", false},
		{"{a,b}*", "{a,b}c", true},
		{"{http.vars.plan}", "pro", false},
	} {
		g, err := Parse([]string{"never", tc.pattern, "nor*this"})
		if err != nil {
			t.Fatalf("Parse(%q) = %v", tc.pattern, err)
		}
		if got := g.Match(tc.s); got != tc.want {
			t.Errorf("%q matches %q: %v, want %v", tc.pattern, tc.s, got, tc.want)
		}
	}
	if none := (Set{}); none.Match("") || !none.Empty() {
		t.Error("no patterns match something")
	}
	for _, p := range []string{"a", "a*"} {
		if g, err := Parse([]string{p}); err != nil || g.Empty() {
			t.Errorf("Parse(%q) = %v, %v; want a set that is not empty", p, g, err)
		}
	}
	if _, err := Parse([]string{"a*\xff"}); err == nil || !strings.Contains(err.Error(), "save the file as UTF-8") {
		t.Errorf("a pattern of other bytes = %v, want an error that says what to do", err)
	}
	if _, err := Parse([]string{"a", ""}); err == nil || !strings.Contains(err.Error(), `"*" for all keys`) {
		t.Errorf("an empty pattern = %v, want an error that says what to write", err)
	}
}

// A matcher that backtracks at each star would not finish.
func TestMatchHostileText(t *testing.T) {
	g, err := Parse([]string{strings.Repeat("*a", 50) + "*b", strings.Repeat("*?a", 50) + "*b"})
	if err != nil {
		t.Fatal(err)
	}
	if g.Match(strings.Repeat("a", 64<<10)) {
		t.Error("patterns that end in b match a key of a's")
	}
}

// FuzzMatch compares Match with a matcher that tries all ways to divide the text.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "a1bxc")
	f.Add("*?é*世", "aéé\xc3世")
	f.Add("a*??", "a世")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		g, err := Parse([]string{pattern})
		if refused := pattern == "" || !utf8.ValidString(pattern); refused != (err != nil) {
			t.Fatalf("Parse(%q) = %v", pattern, err)
		}
		if err != nil {
			return
		}
		if got, want := g.Match(s), matchesSomehow(chars(pattern), chars(s)); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, s, got, want)
		}
	})
}

// chars splits s into characters. A byte that is not UTF-8 is a character of its own.
func chars(s string) []string {
	var cs []string
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		cs, s = append(cs, s[:size]), s[size:]
	}
	return cs
}

// matchesSomehow reports whether pattern matches s. After each character of the pattern, it has the
// prefixes of s that the pattern so far can match.
func matchesSomehow(pattern, s []string) bool {
	matched := make([]bool, len(s)+1)
	matched[0] = true
	for _, p := range pattern {
		next := make([]bool, len(s)+1)
		for i := range next {
			if p == "*" {
				next[i] = matched[i] || i > 0 && next[i-1]
			} else {
				next[i] = i > 0 && matched[i-1] && (p == "?" || p == s[i-1])
			}
		}
		matched = next
	}
	return matched[len(s)]
}
