package inspect

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A range is allowed or denied only as a whole. Denials come first, wherever they are from.
func TestAccessOf(t *testing.T) {
	now := time.Now()
	entry := func(id, action, address string, end *time.Time) *rules.AccessEntry {
		return &rules.AccessEntry{Entry: rules.Entry{ID: id, ExpiresAt: end}, Action: action, Address: address}
	}
	entries := []*rules.AccessEntry{
		entry("over", rules.Deny, "198.51.100.0/24", &now), entry("net", rules.Allow, "192.0.2.0/24", nil),
		entry("one", rules.Deny, "192.0.2.7", nil), entry("six", rules.Deny, "2001:db8::1", nil),
		entry("office", rules.Allow, "203.0.113.0/24", nil), {Action: rules.Deny, Key: &rules.Key{Zone: "z", Text: "192.0.2.1"}},
	}
	filter, err := zone.NewAddresses([]string{"192.0.2.7", "10.0.0.0/8"}, []string{"203.0.113.9", "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"192.0.2.1": "allow net", "192.0.2.7": "deny one", "192.0.2.0/24": "allow net", "192.0.2.0/23": "", "198.51.100.1": "",
		"2001:db8::1": "deny six", "2001:db8::/64": "", "203.0.113.9": "deny ", "203.0.113.8": "allow office",
		"10.0.0.2": "allow ", "10.0.0.1": "deny ", "10.0.0.0/8": "allow ",
	} {
		p, err := ipset.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if by := accessOfAddresses(p, entries, now, new(zone.Addresses), &filter); by != nil {
			got = by.Action + " " + by.Entry
		}
		if got != want {
			t.Errorf("access of %s = %q, want %q", text, got, want)
		}
	}
}
