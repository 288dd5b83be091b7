package ipset

import (
	"net/netip"
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	l, err := Parse([]string{
		"192.0.2.7", "10.0.0.0/8", "10.1.0.0/16", "10.255.255.255", "::ffff:198.51.100.9", "::ffff:100.64.0.0/106",
		"2001:db8::/32", "2001:db8:1::1", "fe80::1", "203.0.113.0/28", "192.0.2.7",
		"64:ff9b::198.51.100.64/122",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		addr string
		want bool
	}{
		{"192.0.2.6", false},
		{"192.0.2.7", true},
		{"::ffff:192.0.2.7", true},
		{"192.0.2.8", false},
		{"64:ff9b::192.0.2.7", true},
		{"64:ff9b::c000:208", false},
		{"64:ff9b::10.1.2.3", true},
		{"64:ff9b:1::192.0.2.7", false},
		{"64:ff9b::1:c000:207", false},
		{"198.51.100.88", true},
		{"9.255.255.255", false},
		{"10.0.0.0", true},
		{"10.1.2.3", true},
		{"10.200.0.1", true},
		{"10.255.255.255", true},
		{"11.0.0.0", false},
		{"198.51.100.9", true},
		{"100.63.255.255", false},
		{"100.64.0.0", true},
		{"100.127.255.255", true},
		{"100.128.0.0", false},
		{"203.0.113.15", true},
		{"203.0.113.16", false},
		{"0.0.0.0", false},
		{"255.255.255.255", false},
		{"2001:db7:ffff::", false},
		{"2001:db8::", true},
		{"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true},
		{"2001:db9::", false},
		{"fe80::1%eth0", true},
		{"fe80::2", false},
		{"::", false},
	} {
		if got := l.Contains(netip.MustParseAddr(tc.addr)); got != tc.want {
			t.Errorf("Contains(%s) = %v, want %v", tc.addr, got, tc.want)
		}
	}
	if l.Contains(netip.Addr{}) {
		t.Error("Contains(no address) = true, want false")
	}
	everyone, err := Parse([]string{"0.0.0.0/0", "127.0.0.1"})
	if err != nil || !everyone.Contains(netip.MustParseAddr("255.1.1.1")) || everyone.Contains(netip.MustParseAddr("::1")) {
		t.Errorf("0.0.0.0/0 = %v, %v; want all of IPv4 and nothing of IPv6", everyone, err)
	}
	if none, err := Parse(nil); err != nil || len(none) != 0 || none.Contains(netip.MustParseAddr("::1")) {
		t.Errorf("Parse(nil) = %v, %v; want an empty set", none, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "use one such as 192.0.2.1"},
		{"localhost", "use one such as 192.0.2.1"},
		{"192.0.2.1:80", "use one such as 192.0.2.1"},
		{"192.0.2", "use one such as 192.0.2.1"},
		{"192.0.2.0/33", "use one such as 192.0.2.0/24"},
		{"192.0.2.0/", "use one such as 192.0.2.0/24"},
		{"192.0.2.0/255.255.255.0", "use one such as 192.0.2.0/24"},
		{"10.1.2.3/8", "use the range 10.0.0.0/8 or the address 10.1.2.3"},
		{"2001:db8::1/64", "use the range 2001:db8::/64 or the address 2001:db8::1"},
		{"::ffff:0.0.0.0/95", "mixes IPv4 and IPv6"},
		{"::ffff:10.1.2.3/104", "use the range 10.0.0.0/8 or the address 10.1.2.3"},
		{"64:ff9b::/96", "is all of IPv4"},
		{"64:ff9b::10.1.2.3/104", "use the range 10.0.0.0/8 or the address 10.1.2.3"},
		{"fe80::1%eth0", `use it without "%eth0"`},
	} {
		if _, err := Parse([]string{"192.0.2.1", tc.text}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse(%q) = %v, want an error that says %q", tc.text, err, tc.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		ranges, p string
		want      bool
	}{
		{"", "0.0.0.0/0", false},
		{"0.0.0.0/0", "0.0.0.0/0", true},
		{"0.0.0.0/0", "::/0", false},
		{"0.0.0.0/0", "192.0.2.0/24", true},
		{"0.0.0.0/1 128.0.0.0/1", "0.0.0.0/0", true},
		{"0.0.0.0/1 128.0.0.0/2", "0.0.0.0/0", false},
		{"128.0.0.0/1", "0.0.0.0/0", false},
		{"0.0.0.0/1 192.0.0.0/2", "0.0.0.0/0", false},
		{"0.0.0.0/1 128.0.0.0/2 192.0.0.0/2 ::/1", "0.0.0.0/0", true},
		{"1.0.0.0/8 ::/1 8000::/1", "::/0", true},
		{"192.0.1.0/24 192.0.2.0/25 192.0.2.128/25 192.0.3.0/24", "192.0.2.0/24", true},
		{"192.0.2.0/25", "192.0.2.0/24", false},
	} {
		s, err := Parse(strings.Fields(tc.ranges))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Covers(netip.MustParsePrefix(tc.p)); got != tc.want {
			t.Errorf("%q covers %s = %t, want %t", tc.ranges, tc.p, got, tc.want)
		}
	}
}
