package config

import "testing"

func TestCheckRejectHeader(t *testing.T) {
	for _, test := range []struct {
		name, value string
		ok          bool
	}{
		{"X-Support", "https://example.com/limits/{http.rate_limit.exceeded.name}", true},
		{"link", "<https://example.com>;\trel=help", true},
		{"Content-Language", "naïve", true},
		{"X_Support", "a", true},
		{"", "a", false},
		{"X Support", "a", false},
		{"X-Süpport", "a", false},
		{"X-Support\r\nB", "a", false},
		{"-", "a", false},
		{"+Link", "a", false},
		{"?Link", "a", false},
		{"Trailer:X", "a", false},
		{"rEtry-aFter", "a", false},
		{"X-RateLimit-Reset", "a", false},
		{"RateLimit", "a", false},
		{"te", "a", false},
		{"X-Support", "", false},
		{"X-Support", "\t ", false},
		{"X-Support", "a\rb", false},
		{"X-Support", "a\nb", false},
		{"X-Support", "a\x00", false},
		{"X-Support", "a\x7f", false},
	} {
		if err := CheckRejectHeader(test.name, test.value); (err == nil) != test.ok {
			t.Errorf("%q, %q: error = %v, want none: %v", test.name, test.value, err, test.ok)
		}
	}
}
