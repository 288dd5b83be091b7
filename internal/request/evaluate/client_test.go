package evaluate

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestNetworkOfClient(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"192.0.2.1", "192.0.2.1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"64:ff9b::192.0.2.1", "192.0.2.1"},
		{"2001:db8:1:2:3::4", "2001:db8:1:2::"},
		{"2001:db8:1:2:5::6%eth0", "2001:db8:1:2::"},
		{"@", ""}, // a Unix socket
		{"", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, map[string]any{caddyhttp.ClientIPVarKey: tt.address}))
		var want netip.Addr
		if tt.want != "" {
			want = netip.MustParseAddr(tt.want)
		}
		if got := (*client)(r).Network(); got != want {
			t.Errorf("network of %q = %v, want %v", tt.address, got, want)
		}
		r.TLS = new(tls.ConnectionState) // early data
		if got, want := (*client)(r).Network(), netip.IPv6Unspecified(); got != want {
			t.Errorf("network of %q in early data = %v, want %v", tt.address, got, want)
		}
	}
}
