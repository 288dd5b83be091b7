package keytemplate

import (
	"net/url"
	"strings"
	"testing"
)

func TestUnescape(t *testing.T) {
	for _, tc := range []struct {
		s, path, query string
		ok             bool
	}{
		{"", "", "", true},
		{"abc", "abc", "abc", true},
		{"%61%62%63", "abc", "abc", true},
		{"a%2Bb+c", "a+b+c", "a+b c", true},
		{"+a%20", "+a ", " a ", true},
		{"%fF%00", "\xff\x00", "\xff\x00", true},
		{"%2541", "%41", "%41", true},
		{"100%", "100%", "", false},
		{"%4", "%4", "", false},
		{"a%zz%41%", "a%zzA%", "", false},
		{"%%41+", "%A+", "", false},
	} {
		for query, want := range map[bool]string{false: tc.path, true: tc.query} {
			if got, ok := unescape(tc.s, query); got != want || ok != tc.ok {
				t.Errorf("unescape(%q, %v) = %q, %v; want %q, %v", tc.s, query, got, ok, want, tc.ok)
			}
		}
	}
}

// FuzzUnescape compares unescape with net/url, which decodes either all of a text or nothing.
func FuzzUnescape(f *testing.F) {
	f.Add("%41+%4")
	f.Add("a+b%20%zz")
	f.Fuzz(func(t *testing.T, s string) {
		for query, parse := range map[bool]func(string) (string, error){false: url.PathUnescape, true: url.QueryUnescape} {
			got, ok := unescape(s, query)
			if want, err := parse(s); ok != (err == nil) || ok && got != want {
				t.Errorf("unescape(%q, %v) = %q, %v; want %q, %v", s, query, got, ok, want, err)
			}
			if !strings.ContainsAny(s, "%+") && got != s {
				t.Errorf("unescape(%q, %v) = %q", s, query, got)
			}
		}
	})
}
