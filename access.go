package fleetlimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// addressList is a set of addresses. The zero value is empty.
//
// Invariant: sorted by address, no two ranges overlap, IPv4 is not written as IPv6.
type addressList []netip.Prefix

// parseAddressList reads addresses and CIDR ranges. Placeholders that do not depend on a request, such as {env.OFFICE},
// are expanded.
func parseAddressList(texts []string) (addressList, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		expanded, err := caddy.NewReplacer().ReplaceOrErr(text, true, true)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w when the configuration loads", text, err)
		}
		p, err := parseRange(expanded)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, p)
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	// Two ranges are disjoint or one holds the other, and the larger one comes first.
	var l addressList
	for _, p := range ranges {
		if n := len(l); n == 0 || !l[n-1].Contains(p.Addr()) {
			l = append(l, p)
		}
	}
	return l, nil
}

// parseRange reads an address or a CIDR range.
func parseRange(text string) (netip.Prefix, error) {
	if strings.Contains(text, "%") {
		return netip.Prefix{}, fmt.Errorf("address %q has a zone: write it without %q", text, text[strings.Index(text, "%"):])
	}
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%q is no address: write one like 192.0.2.1 or 2001:db8::1, or a range "+
				"like 192.0.2.0/24", text)
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is no range of addresses: write one like 192.0.2.0/24 or 2001:db8::/32", text)
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%q mixes IPv4 and IPv6: write IPv4 ranges like 192.0.2.0/24", text)
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Masked() != p {
		return netip.Prefix{}, fmt.Errorf("%q has bits beyond its prefix: write the range %s or the address %s", text,
			p.Masked(), p.Addr())
	}
	return p, nil
}

// contains reports whether a is in the list.
func (l addressList) contains(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	// The last range that starts at or before a is the only one that can hold it.
	i, found := slices.BinarySearchFunc(l, a, func(p netip.Prefix, a netip.Addr) int { return p.Addr().Compare(a) })
	return found || i > 0 && l[i-1].Contains(a)
}

func (l addressList) empty() bool { return len(l) == 0 }

// clientAddr returns the address of the client as Caddy has determined it, that is, with regard to trusted proxies. IPv4
// is never written as IPv6, and there is no zone. ok is false when the client has none, as on a Unix socket. early says
// that the client has not proved the address; it must not open or close anything then.
func clientAddr(r *http.Request) (addr netip.Addr, ok, early bool) {
	text, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	addr, ok = parseAddress(text)
	return addr, ok, unproved(r)
}

// unproved reports whether r came as TLS early data (0-RTT), whose sender has not shown yet that it can receive at the
// address it sends from.
func unproved(r *http.Request) bool { return r.TLS != nil && !r.TLS.HandshakeComplete }

// maxAddressLen is the length in bytes of the longest address, an IPv4 address as IPv6 with all its digits.
const maxAddressLen = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")

// parseAddress reads an address in any spelling and drops its zone. It rejects what cannot be an address before ParseAddr
// does, which would allocate an error.
func parseAddress(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(text, "%")
	if len(text) == 0 || len(text) > maxAddressLen {
		return netip.Addr{}, false
	}
	separated := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.' || c == ':':
			separated = true
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return netip.Addr{}, false
		}
	}
	if !separated {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(text)
	return a.Unmap(), err == nil
}
