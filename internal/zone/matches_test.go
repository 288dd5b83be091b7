package zone

import (
	"net/url"
	"testing"
)

func TestPlainQuery(t *testing.T) {
	for _, tc := range []struct{ query, want string }{
		{"", ""},
		{"a=1&b=%2F+c", "a=1&b=%2F+c"},
		{"a;b=1", "a&b=1"},
		{"a=1&b=%", "a=1&b=%25"},
		{"%zz=%2f%4;", "%25zz=%2f%254&"},
		{"a=%%41", "a=%25%41"},
	} {
		got := tc.query
		if wrong := firstWrong(tc.query); wrong >= 0 {
			got = plainQuery(tc.query, wrong)
		}
		if got != tc.want {
			t.Errorf("plain query of %q = %q, want %q", tc.query, got, tc.want)
		}
		if _, err := url.ParseQuery(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}

// What has no mistake for us has none for Caddy's matcher, and what was mended has none either.
func FuzzPlainQuery(f *testing.F) {
	f.Add("a=1;b=%zz&%")
	f.Fuzz(func(t *testing.T, query string) {
		if wrong := firstWrong(query); wrong >= 0 {
			query = plainQuery(query, wrong)
		}
		if _, err := url.ParseQuery(query); err != nil && len(query) < mostParameters {
			t.Errorf("%q: %v", query, err)
		}
	})
}
