package gateway

import (
	"net/http"
	"testing"
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
