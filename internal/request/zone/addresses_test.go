package zone

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/rules"
)

// requestFrom returns a request of a client, with the context that Caddy's server gives it.
func requestFrom(clientIP string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	vars := map[string]any{caddyhttp.ClientIPVarKey: clientIP}
	r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, vars))
	caddyhttp.NewTestReplacer(r)
	return r
}

func TestParseAddresses(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_OFFICE", "203.0.113.0/28")
	set, err := parseAddresses([]string{"192.0.2.1", "{env.FLEETLIMIT_TEST_OFFICE}"})
	if err != nil || !set.Contains(netip.MustParseAddr("203.0.113.15")) || set.Contains(netip.MustParseAddr("203.0.113.16")) {
		t.Errorf("addresses = %v, %v, want those of the environment variable too", set, err)
	}
	for _, test := range []struct{ text, want string }{
		{"{env.FLEETLIMIT_TEST_UNSET}", "empty when the configuration loads"},
		{"{client_ip}", "unrecognized placeholder {client_ip} when the configuration loads"},
		{"localhost", "use one such as 192.0.2.1"},
	} {
		if _, err := parseAddresses([]string{"192.0.2.1", test.text}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("addresses with %q = %v, want an error with %q", test.text, err, test.want)
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
		r := requestFrom(tc.text)
		for _, state := range []*tls.ConnectionState{nil, {HandshakeComplete: true}, {HandshakeComplete: false}} {
			r.TLS = state
			wantEarly := state != nil && !state.HandshakeComplete
			addr, ok, early := ClientAddr(r)
			if ok != (tc.addr != "") || ok && addr.String() != tc.addr || early != wantEarly {
				t.Errorf("clientAddr of %.40q = %v, ok %v, early %v; want %q, early %v", tc.text, addr, ok, early, tc.addr, wantEarly)
			}
		}
	}
}

func TestAddressWarnings(t *testing.T) {
	for _, tc := range []struct{ allow, deny, want string }{
		{"10.0.0.0/8", "10.1.0.0/16", ""},
		{"192.0.2.1", "192.0.2.2", ""},
		{"2001:db8::/32", "0.0.0.0/1", ""},
		{"10.1.0.0/16", "10.0.0.0/8", "use a narrower deny"},
		{"192.0.2.1", "192.0.2.1", "allow 192.0.2.1 has no effect"},
		{"0.0.0.0/0", "192.0.2.1", "allow 0.0.0.0/0 exempts"},
		{"192.0.2.1", "::/0", "deny ::/0 answers 403"},
	} {
		f, err := NewAddresses([]string{tc.allow}, []string{tc.deny})
		if err != nil {
			t.Fatal(err)
		}
		warnings := f.Warnings()
		if (len(warnings) == 1) != (tc.want != "") || !strings.Contains(fmt.Sprint(warnings), tc.want) {
			t.Errorf("allow %s, deny %s: warnings %v, want %q", tc.allow, tc.deny, warnings, tc.want)
		}
	}
}

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
