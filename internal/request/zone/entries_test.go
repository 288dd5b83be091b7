package zone

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// An entry counts until its instant, and not from then on.
func TestEntriesEndExactly(t *testing.T) {
	now := time.Now()
	k := keyEntries{
		access:    []expiring[bool]{{value: true, end: now}},
		tiers:     []expiring[int]{{value: 1}, {value: 2, end: now}},
		overrides: []expiring[keyOverride]{{value: keyOverride{-1, &override{multiplier: 2}}, end: now}},
	}
	before := now.Add(-1)
	if allowed, _ := k.accessAt(before); !allowed {
		t.Error("the key is not allowed a nanosecond before the end")
	}
	if allowed, _ := k.accessAt(now); allowed {
		t.Error("the key is allowed at the end")
	}
	if tier, _ := k.tierAt(before); tier != 2 {
		t.Errorf("tier a nanosecond before the end = %d, want 2", tier)
	}
	if tier, _ := k.tierAt(now); tier != 1 {
		t.Errorf("tier at the end = %d, want 1", tier)
	}
	if k.overrideAt(before, 0) == nil || k.overrideAt(now, 0) != nil {
		t.Error("the override does not end at its instant")
	}
}

// A missing key may be made in several ways.
func TestKeysOfMissingKeys(t *testing.T) {
	text := func(z *Zone, k rules.Key) (texts []string) {
		keys, err := z.KeysOf(&k)
		if err != nil {
			return []string{err.Error()}
		}
		for _, key := range keys {
			texts = append(texts, string(key))
		}
		return texts
	}
	for _, tc := range []struct {
		zone string
		key  rules.Key
		want []string
	}{
		{`{"key": "{http.request.header.X-Api-Key}", "limit": "1/1h"}`, rules.Key{Text: "a"}, []string{"kta"}},
		{`{"key": "{http.request.header.X-Api-Key}", "limit": "1/1h"}`, rules.Key{Base64: "/w=="}, []string{"kt\xff"}},
		{`{"key": "{http.request.header.X-Api-Key}", "limit": "1/1h"}`, rules.Key{Text: "192.0.2.1", Missing: true},
			[]string{"ma\xe0\xc0\x00\x02\x01"}},
		{`{"key": "{http.request.header.X-Api-Key}", "limit": "1/1h", "on_missing_key": "shared"}`,
			rules.Key{Text: "shared", Missing: true}, []string{"m", "mtshared"}},
		{`{"key": "{http.request.header.X-Api-Key}", "limit": "1/1h", "on_missing_key": "{http.request.header.X-Tenant}"}`,
			rules.Key{Text: "192.0.2.1", Missing: true}, []string{"mt192.0.2.1", "ma\xe0\xc0\x00\x02\x01"}},
		{`{"key": "static", "limit": "1/1h"}`, rules.Key{Text: "x"},
			[]string{`"x" is no key, because all requests have the same: use "static"`}},
	} {
		if got := text(compiledZone(t, tc.zone), tc.key); !slices.Equal(got, tc.want) {
			t.Errorf("keys of %+v in %s: %q, want %q", tc.key, tc.zone, got, tc.want)
		}
	}
}
