package fleetlimit

import (
	"net/netip"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

func TestAddressEntries(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Minute)
	entry := func(action, address string, end *time.Time) *rules.AccessEntry {
		return &rules.AccessEntry{Entry: rules.Entry{ExpiresAt: end}, Action: action, Address: address}
	}
	entries, left := newAddressEntries([]*rules.AccessEntry{
		entry(rules.Allow, "192.0.2.0/24", nil), entry(rules.Deny, "192.0.2.7", nil), entry(rules.Deny, "192.0.2.8", &now),
		entry(rules.Deny, "2001:db8::/32", &later), entry(rules.Allow, "2001:db8::1", nil),
		entry(rules.Deny, "192.0.2", nil),
	})
	if len(left) != 1 {
		t.Errorf("left out: %v, want the entry that is no address", left)
	}
	for _, tc := range []struct {
		address        string
		exempt, denied bool
	}{
		{"192.0.2.1", true, false}, {"192.0.2.7", false, true}, {"192.0.2.8", true, false}, {"198.51.100.1", false, false},
		{"2001:db8::1", false, true}, {"2001:db9::1", false, false},
	} {
		exempt, denied := entries.check(netip.MustParseAddr(tc.address), func() time.Time { return now })
		if exempt != tc.exempt || denied != tc.denied {
			t.Errorf("%s: exempt %v, denied %v; want %v, %v", tc.address, exempt, denied, tc.exempt, tc.denied)
		}
	}
	if _, denied := entries.check(netip.MustParseAddr("2001:db8::1"), func() time.Time { return later }); denied {
		t.Error("an entry counts at its end")
	}
	if none, _ := newAddressEntries(nil); none != nil {
		t.Error("without entries, requests look for some")
	}
}
