package fleetlimit

import (
	"path"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
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
		g, err := parseGlobs([]string{"never", tc.pattern, "nor*this"})
		if err != nil {
			t.Fatalf("parseGlobs(%q) = %v", tc.pattern, err)
		}
		if got := g.match(tc.s); got != tc.want {
			t.Errorf("%q matches %q: %v, want %v", tc.pattern, tc.s, got, tc.want)
		}
	}
	if none := (globs{}); none.match("") || !none.empty() {
		t.Error("no patterns match something")
	}
	for _, p := range []string{"a", "a*"} {
		if g, err := parseGlobs([]string{p}); err != nil || g.empty() {
			t.Errorf("parseGlobs(%q) = %v, %v; want a set that is not empty", p, g, err)
		}
	}
	if _, err := parseGlobs([]string{"a", ""}); err == nil || !strings.Contains(err.Error(), `"*" for all keys`) {
		t.Errorf("an empty pattern = %v, want an error that says what to write", err)
	}
}

// A matcher that goes back at each star takes longer than anyone waits for this.
func TestGlobsHostileKey(t *testing.T) {
	g, err := parseGlobs([]string{strings.Repeat("*a", 50) + "*b", strings.Repeat("*?a", 50) + "*b"})
	if err != nil {
		t.Fatal(err)
	}
	if g.match(strings.Repeat("a", 64<<10)) {
		t.Error("patterns that end in b match a key of a's")
	}
}

// FuzzGlobs compares with path.Match, which knows the same wildcards where neither a slash nor its other ones are about.
func FuzzGlobs(f *testing.F) {
	f.Add("a*b?c", "a1bxc")
	f.Add("*?é*\xff", "aéé\xc3\xff")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if pattern == "" || strings.ContainsAny(pattern, `[]\/`) || strings.Contains(s, "/") {
			t.Skip("not the same language")
		}
		g, err := parseGlobs([]string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		want, err := path.Match(pattern, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.match(s); got != want {
			t.Errorf("%q matches %q: %v, path.Match says %v", pattern, s, got, want)
		}
	})
}
