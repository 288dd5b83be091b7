package keytemplate

import (
	"net/textproto"
	"slices"
	"testing"
)

func TestAddressHeadersAreCanonical(t *testing.T) {
	for _, field := range addressHeaders {
		if textproto.CanonicalMIMEHeaderKey(field) != field {
			t.Errorf("%s is not how net/http writes it", field)
		}
	}
	if !slices.IsSorted(addressHeaders) {
		t.Error("the headers are not sorted")
	}
}

func TestAddressHeadersAreMasked(t *testing.T) {
	o := Options{IPv4Prefix: 32, IPv6Prefix: 64, MaskHeaders: true}
	for _, tc := range []struct{ raw, field, value, want string }{
		{"{header.CF-Connecting-IP}", "Cf-Connecting-Ip", "2001:db8::1", "2001:db8::/64"},
		{"{header.x-real-ip}", "X-Real-Ip", "2001:DB8:0::2", "2001:db8::/64"},
		{"{header.X-Real-IP}", "X-Real-Ip", "::ffff:192.0.2.1", "192.0.2.1"},
		{"{header.X-Real-IP}", "X-Real-Ip", "192.0.2.1:4711", "192.0.2.1"},
		{"{header.X-Real-IP}", "X-Real-Ip", "[2001:db8::1]:4711", "2001:db8::/64"},
		{"{header.CloudFront-Viewer-Address}", "Cloudfront-Viewer-Address", "2001:db8::1:46532", "2001:db8::/64"},
		{"{header.X-Real-IP}", "X-Real-Ip", "alice", "alice"},
		{"{header.X-Forwarded-For}", "X-Forwarded-For", "2001:db8::1", "2001:db8::/64"},
		{"{header.X-Forwarded-For}", "X-Forwarded-For", "2001:db8::1, 192.0.2.1", "2001:db8::1, 192.0.2.1"},
		{"{header.X-Api-Key}", "X-Api-Key", "2001:db8::1", "2001:db8::1"},
		{"{header.X-Api-Key}", "X-Api-Key", "192.0.2.1:80", "192.0.2.1:80"},
	} {
		r, repl := keyRequest("192.0.2.9", tc.field, tc.value)
		if got := mustTemplate(t, tc.raw, o).Text(r, repl); got != tc.want {
			t.Errorf("%s of %q counts as %q, want %q", tc.raw, tc.value, got, tc.want)
		}
	}
	// In zones of caddy-ratelimit, the value of the header counts unchanged.
	r, repl := keyRequest("192.0.2.9", "X-Real-Ip", "2001:DB8::1")
	if got := mustTemplate(t, "{header.X-Real-IP}", defaults).Text(r, repl); got != "2001:DB8::1" {
		t.Errorf("without MaskHeaders the header counts as %q", got)
	}
}

func TestLacksAddress(t *testing.T) {
	for _, tc := range []struct {
		raw, clientIP string
		want          bool
	}{
		{"{client_ip}", "192.0.2.1", false},
		{"{client_ip}", "", true},
		{"{client_ip}", "@", true},
		{"{header.X-Api-Key}:{client_ip}", "@", true},
		{"{header.X-Api-Key}", "@", false},
		{"{remote_host}", "@", false}, // Caddy determines the client's address, but this is the address of the peer
	} {
		r, repl := keyRequest("192.0.2.1")
		setClientIP(tc.clientIP)(r)
		if got := mustTemplate(t, tc.raw, defaults).LacksAddress(r, repl); got != tc.want {
			t.Errorf("%s lacks the address %q: %v, want %v", tc.raw, tc.clientIP, got, tc.want)
		}
	}
}
