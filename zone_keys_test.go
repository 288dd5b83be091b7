package fleetlimit

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

func TestAccessEntriesOfKeys(t *testing.T) {
	h := rulesHandler(t, "access-keys")
	h.app.rulesInForce()
	putRules(t, h, `{"access": [
		{"id": "1", "action": "allow", "zone": "access-keys", "key": "allowed"},
		{"id": "2", "action": "deny", "zone": "access-keys", "key": "denied"},
		{"id": "3", "action": "allow", "zone": "access-keys", "key": "both"},
		{"id": "4", "action": "deny", "zone": "access-keys", "key": "both"},
		{"id": "5", "action": "deny", "zone": "access-keys", "key": "expired", "expires_at": "2001-01-01T00:00:00Z"},
		{"id": "6", "action": "deny", "zone": "another", "key": "other"}]}`)
	for key, want := range map[string]int{"allowed": 20, "denied": 0, "both": 0, "expired": 2, "other": 2} {
		if got := h.admitted(t, key, "/"); got != want {
			t.Errorf("%d requests of the key %s are admitted, want %d", got, key, want)
		}
	}
	if got := h.statusOf(t, "denied", "/"); got != http.StatusForbidden {
		t.Errorf("status of a denied key = %d, want 403", got)
	}
}

func TestTierAssignments(t *testing.T) {
	h := rulesHandler(t, "assigned")
	h.app.rulesInForce()
	putRules(t, h, `{"tiers": [
		{"id": "1", "zone": "assigned", "key": "a", "tier": "pro"},
		{"id": "2", "zone": "assigned", "key": "pro-b", "tier": "free"},
		{"id": "3", "zone": "assigned", "key": "c", "tier": "pro", "expires_at": "2001-01-01T00:00:00Z"}]}`)
	for key, want := range map[string]int{"a": 4, "pro-b": 3, "c": 2, "pro-d": 4} {
		if got := h.admitted(t, key, "/"); got != want {
			t.Errorf("%d requests of the key %s are admitted, want %d", got, key, want)
		}
	}
}

// An entry counts until its instant, and not from then on.
func TestEntriesEndExactly(t *testing.T) {
	now := time.Now()
	k := keyEntries{
		access:    []expiring[bool]{{true, now}},
		tiers:     []expiring[int]{{1, time.Time{}}, {2, now}},
		overrides: []expiring[keyOverride]{{keyOverride{-1, new(override)}, now}},
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
	text := func(z *zone, k rules.Key) (texts []string) {
		keys, err := z.keysOf(&k)
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
