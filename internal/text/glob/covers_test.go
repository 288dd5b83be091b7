package glob

import (
	"math/rand/v2"
	"testing"
)

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		wide, narrow string
		want         bool
	}{
		{"*", "", true}, {"*", "*", true}, {"*", "a", true}, {"*", "a*b", true}, {"*", "?", true},
		{"a", "a", true}, {"a", "b", false}, {"a", "*", false}, {"a", "a*", false}, {"a", "?", false},
		{"sk_*", "sk_live_*", true}, {"sk_live_*", "sk_*", false}, {"sk_*", "sk_", true}, {"sk_*", "pk_*", false},
		{"*.json", "a.json", true}, {"*.json", "*/a.json", true}, {"*.json", "*.jsonx", false}, {"*.json", "*.json*", false},
		{"a*b", "ab", true}, {"a*b", "a*c*b", true}, {"a*b*c", "a*c", false}, {"a*b*c", "axbxc", true}, {"*a*", "*ba*", true},
		{"?", "a", true}, {"?", "é", true}, {"?", "?", true}, {"?", "*", false}, {"?", "", false}, {"?*", "*?", true},
		{"?*", "*", false}, {"a?", "a*", false}, {"**", "*", true}, {"*?*", "a", true}, {"*?*?", "ab*", true}, {"*?", "*a", false},
		{"a*", "?", false}, {"*a*a*", "*a*", false}, {"*ab", "*aab", true}, {"*aab", "*ab", false},
	} {
		if got := Covers(tc.wide, tc.narrow); got != tc.want {
			t.Errorf("Covers(%q, %q) = %v, want %v", tc.wide, tc.narrow, got, tc.want)
		}
	}
}

// TestCoversIsCertain looks for patterns of which wide covers narrow, and for a text that only narrow
// matches.
func TestCoversIsCertain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	covered := 0
	for range 20_000 {
		wide, narrow := "*"+word("ab*?", 4), word("ab*?", 5)
		if random.IntN(2) == 0 {
			wide = word("ab*?", 5)
		}
		if wide == "" || narrow == "" || !Covers(wide, narrow) {
			continue
		}
		covered++
		w, n := mustParse(t, wide), mustParse(t, narrow)
		for range 40 {
			if s := word("abc", 6); n.Match(s) && !w.Match(s) {
				t.Fatalf("Covers(%q, %q), but only the second matches %q", wide, narrow, s)
			}
		}
	}
	if covered < 500 {
		t.Errorf("%d pairs were covered, want 500 or more", covered)
	}
}

func TestSetCovers(t *testing.T) {
	g := mustParse(t, "a", "b*", "*c")
	for pattern, want := range map[string]string{"a": "a", "b": "b*", "b*d": "b*", "xc": "*c", "a*": "", "d": ""} {
		if by, covered := g.Covers(pattern); by != want || covered != (want != "") {
			t.Errorf("Covers(%q) = %q, %v; want %q", pattern, by, covered, want)
		}
	}
	if _, covered := (Set{}).Covers("*"); covered {
		t.Errorf("an empty set covers *")
	}
}

func mustParse(t *testing.T, patterns ...string) Set {
	t.Helper()
	g, err := Parse(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
