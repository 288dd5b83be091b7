package fleetlimit

import (
	"crypto/tls"
	"net/netip"
	"strings"
	"testing"
)

func TestAddressList(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_OFFICE", "203.0.113.0/28")
	l, err := parseAddressList([]string{
		"192.0.2.7", "10.0.0.0/8", "10.1.0.0/16", "10.255.255.255", "::ffff:198.51.100.9", "::ffff:100.64.0.0/106",
		"2001:db8::/32", "2001:db8:1::1", "fe80::1", "{env.FLEETLIMIT_TEST_OFFICE}", "192.0.2.7",
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
		if got := l.contains(netip.MustParseAddr(tc.addr)); got != tc.want {
			t.Errorf("contains(%s) = %v, want %v", tc.addr, got, tc.want)
		}
	}
	if l.contains(netip.Addr{}) {
		t.Error("contains(no address) = true, want false")
	}
	if l.empty() {
		t.Error("empty() of a list with addresses = true")
	}
	everyone, err := parseAddressList([]string{"0.0.0.0/0", "127.0.0.1"})
	if err != nil || !everyone.contains(netip.MustParseAddr("255.1.1.1")) || everyone.contains(netip.MustParseAddr("::1")) {
		t.Errorf("0.0.0.0/0 = %v, %v; want all of IPv4 and nothing of IPv6", everyone, err)
	}
	if none, err := parseAddressList(nil); err != nil || !none.empty() || none.contains(netip.MustParseAddr("::1")) {
		t.Errorf("parseAddressList(nil) = %v, %v; want an empty list", none, err)
	}
}

func TestAddressListRefused(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "write one like 192.0.2.1"},
		{"localhost", "write one like 192.0.2.1"},
		{"192.0.2.1:80", "write one like 192.0.2.1"},
		{"192.0.2", "write one like 192.0.2.1"},
		{"192.0.2.0/33", "write one like 192.0.2.0/24"},
		{"192.0.2.0/", "write one like 192.0.2.0/24"},
		{"192.0.2.0/255.255.255.0", "write one like 192.0.2.0/24"},
		{"10.1.2.3/8", "write the range 10.0.0.0/8 or the address 10.1.2.3"},
		{"2001:db8::1/64", "write the range 2001:db8::/64 or the address 2001:db8::1"},
		{"::ffff:0.0.0.0/95", "mixes IPv4 and IPv6"},
		{"::ffff:10.1.2.3/104", "write the range 10.0.0.0/8 or the address 10.1.2.3"},
		{"fe80::1%eth0", `write it without "%eth0"`},
		{"{env.FLEETLIMIT_TEST_UNSET}", "empty when the configuration loads"},
		{"{client_ip}", "unrecognized placeholder {client_ip} when the configuration loads"},
	} {
		if _, err := parseAddressList([]string{"192.0.2.1", tc.text}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("parseAddressList(%q) = %v, want an error that says %q", tc.text, err, tc.want)
		}
	}
}

func TestClientAddr(t *testing.T) {
	for _, tc := range []struct {
		text, addr string // no addr: not ok
	}{
		{"192.0.2.1", "192.0.2.1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"2001:DB8::1", "2001:db8::1"},
		{"fe80::1%eth0", "fe80::1"},
		{"", ""},
		{"@", ""},
		{"192.0.2.1:80", ""},
		{"cafe", ""},
		{"a.b", ""},
		{strings.Repeat("f", 64<<10), ""},
	} {
		r, _ := keyRequest("192.0.2.99")
		setClientIP(tc.text)(r)
		for _, state := range []*tls.ConnectionState{nil, {HandshakeComplete: true}, {HandshakeComplete: false}} {
			r.TLS = state
			wantEarly := state != nil && !state.HandshakeComplete
			addr, ok, early := clientAddr(r)
			if ok != (tc.addr != "") || ok && addr.String() != tc.addr || early != wantEarly {
				t.Errorf("clientAddr of %.40q = %v, ok %v, early %v; want %q, early %v", tc.text, addr, ok, early, tc.addr, wantEarly)
			}
		}
	}
}
