package adminapi

import (
	"encoding/json"
	"testing"
)

func TestDecodeYAML(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"zones:\n  user:\n    limit: 5/1h\n", `{"zones":{"user":{"limit":"5/1h"}}}`},
		{"emergency: {limit: 1/s, expires_at: 2026-05-04T12:00:00Z}", `{"emergency":{"expires_at":"2026-05-04T12:00:00Z","limit":"1/s"}}`},
		{"a: &x [1, 2]\nb: *x", `{"a":[1,2],"b":[1,2]}`},
		{"", "null"},
		{"a: 1\na: 2", ""},
		{"1: 2", ""},
		{"a: .nan", ""},
		{"a: [", ""},
	} {
		value, err := DecodeYAML([]byte(tc.text))
		text, _ := json.Marshal(value)
		if got := string(text); err == nil && got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q = %s, %v, want %s", tc.text, got, err, tc.want)
		}
	}
}
