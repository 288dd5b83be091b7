package membership

import (
	"maps"
	"slices"
	"testing"
)

// TestMismatches has three definitions of a zone, one of them by two nodes that differ in another
// zone.
func TestMismatches(t *testing.T) {
	own := map[string]string{"user": "1", "tenant": "1"}
	others := map[string]string{
		`{"user":"2","other":"1"}`:  "b",
		`{"user":"2","tenant":"1"}`: "c",
		`{"user":"3"}`:              "d",
		`not of this version`:       "e",
		`{"other":"5"}`:             "f",
	}
	var s mismatches
	for i, test := range []struct {
		others map[string]string
		want   []Mismatch
	}{
		{others, nil},
		{others, []Mismatch{{"user", "b"}, {"user", "d"}}},
		{others, nil},
		{nil, nil},
		{others, nil},
		{others, []Mismatch{{"user", "b"}, {"user", "d"}}},
	} {
		before := maps.Clone(s)
		var news []Mismatch
		if s, news = s.update(own, test.others); !slices.Equal(news, test.want) {
			t.Errorf("announcement %d, after %v: news = %v, want %v", i+1, before, news, test.want)
		}
	}
}
