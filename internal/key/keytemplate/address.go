package keytemplate

import (
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// addressHeaders are the headers in which proxies send the client's address.
var addressHeaders = []string{
	"Ali-Cdn-Real-Ip", "Cdn-Client-Ip", "Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Client-Ip",
	"Cloudfront-Viewer-Address", "Do-Connecting-Ip", "Fastly-Client-Ip", "Fly-Client-Ip", "Real-Ip", "Remote-Addr",
	"True-Client-Ip", "Wl-Proxy-Client-Ip", "X-Appengine-User-Ip", "X-Azure-Clientip", "X-Azure-Socketip", "X-Client-Ip",
	"X-Cluster-Client-Ip", "X-Envoy-External-Address", "X-Forwarded-For", "X-Nf-Client-Connection-Ip",
	"X-Original-Forwarded-For", "X-Original-Remote-Addr", "X-Originating-Ip", "X-Real-Ip", "X-Remote-Addr",
	"X-Remote-Ip", "X-True-Client-Ip", "X-Vercel-Forwarded-For",
}

// isAddressHeader reports whether the placeholder called name is one of addressHeaders.
func isAddressHeader(name string) bool {
	field, ok := strings.CutPrefix(name, headerPrefix)
	return ok && slices.Contains(addressHeaders, textproto.CanonicalMIMEHeaderKey(field))
}

// parseWithPort parses an address that is followed by a port. The port must not count, because it
// differs between the connections of a client. CloudFront writes IPv6 addresses without brackets.
func parseWithPort(text string) (netip.Addr, bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.Addr{}, false
	}
	text = text[:colon]
	if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		text = text[1 : len(text)-1]
	}
	return ipset.ParseAddr(text)
}

// Masks reports whether keys may contain prefixes of addresses.
func (t *Template) Masks() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.read != nil && p.mask })
}

// MayBeMissing reports whether there may be requests without a key.
func (t *Template) MayBeMissing() bool { return len(t.names) > 0 && !t.options.Lenient }

// HasClientIP reports whether keys contain the client's address as Caddy determines it.
func (t *Template) HasClientIP() bool { return t.clientIP }

// LacksAddress reports whether the template contains the client's address and r has no such address,
// because it came through a Unix socket.
func (t *Template) LacksAddress(r *http.Request, repl *caddy.Replacer) bool {
	for i := range t.parts {
		if p := &t.parts[i]; p.read != nil && isAddress(p.name) {
			if _, presence := p.read(r, repl); presence == Missing {
				return true
			}
		}
	}
	return false
}
