package membership

import (
	"maps"
	"reflect"
	"testing"
)

// TestMismatches has three definitions of one zone. One of them comes from two announcements, which
// differ in another zone.
func TestMismatches(t *testing.T) {
	own := map[string]Definition{"user": {"key": "k", "limit": "1", "tier": "t"}, "tenant": {"limit": "1"}}
	others := map[string]announcers{
		`{"user":{"key":"k","limit":"2","tier":"t"},"other":{"limit":"1"}}`:  {"b", 2},
		`{"user":{"key":"k","limit":"2","tier":"t"},"tenant":{"limit":"1"}}`: {"c", 1},
		`{"user":{"key":"x","limit":"1","mode":"m"}}`:                        {"d", 1},
		`not of this version`:        {"e", 1},
		`{"other":{"limit":"5"}}`:    {"f", 1},
		`{"user":"a zone's digest"}`: {"g", 1},
	}
	byB := Mismatch{"user", "b", []string{"limit"}, 3} // c has the definition of b
	byD := Mismatch{"user", "d", []string{"key", "mode", "tier"}, 1}
	both := []Mismatch{byB, byD}
	onlyB := maps.Clone(others)
	delete(onlyB, `{"user":{"key":"x","limit":"1","mode":"m"}}`)
	var m mismatches
	for i, test := range []struct {
		others    map[string]announcers
		all, news []Mismatch
	}{
		{others, nil, nil},
		{others, both, both},
		{others, both, nil},
		{onlyB, []Mismatch{byB}, nil},
		{nil, nil, []Mismatch{{Zone: "user"}}},
		{nil, nil, nil},
		{others, nil, nil},
		{others, both, both},
	} {
		var all, news []Mismatch
		if m, all, news = m.update(own, test.others); !reflect.DeepEqual(all, test.all) || !reflect.DeepEqual(news, test.news) {
			t.Errorf("announcement %d: mismatches = %v, news = %v, want %v, %v", i+1, all, news, test.all, test.news)
		}
	}
}
