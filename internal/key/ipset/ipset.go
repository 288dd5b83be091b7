// Package ipset holds sets of IP addresses.
package ipset

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A Set is a set of addresses. The zero value is empty. An IPv4 address that is written as IPv6 counts
// as IPv4, also if a translator has written it (NAT64, SIIT-DC). Zones of addresses are ignored.
//
// Invariant: the ranges are sorted by address, no two of them overlap, and no range of IPv4 is written
// as IPv6.
type Set []netip.Prefix

// Parse reads addresses and CIDR ranges.
func Parse(texts []string) (Set, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		p, err := ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, p)
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	// Two ranges are disjoint, or one contains the other. The larger one sorts first.
	var s Set
	for _, p := range ranges {
		if n := len(s); n == 0 || !s[n-1].Contains(p.Addr()) {
			s = append(s, p)
		}
	}
	return s, nil
}

// ParsePrefix reads an address or a CIDR range.
func ParsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "%") {
		return netip.Prefix{}, fmt.Errorf("address %q has a zone: use it without %q", text, text[strings.Index(text, "%"):])
	}
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%q is not an address: use one such as 192.0.2.1 or 2001:db8::1, or a range "+
				"such as 192.0.2.0/24", text)
		}
		a = plain(a)
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a range of addresses: use one such as 192.0.2.0/24 or 2001:db8::/32", text)
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%q mixes IPv4 and IPv6: use IPv4 ranges such as 192.0.2.0/24", text)
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if translated.Contains(p.Addr()) && p.Bits() == translated.Bits() {
		return netip.Prefix{}, fmt.Errorf("%q is all of IPv4, as addresses in it count as the IPv4 addresses within: use IPv4 ranges "+
			"such as 192.0.2.0/24", text)
	}
	if translated.Contains(p.Addr()) && p.Bits() > translated.Bits() {
		p = netip.PrefixFrom(plain(p.Addr()), p.Bits()-translated.Bits())
	}
	if p.Masked() != p {
		return netip.Prefix{}, fmt.Errorf("%q has bits beyond its prefix: use the range %s or the address %s", text,
			p.Masked(), p.Addr())
	}
	return p, nil
}

// Format returns a range as an operator writes it. If the range has only one address, Format returns
// that address.
func Format(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// Contains reports whether a is in the set.
func (s Set) Contains(a netip.Addr) bool {
	a = plain(a)
	// Only the last range that starts at or before a can contain it.
	i, found := slices.BinarySearchFunc(s, a, func(p netip.Prefix, a netip.Addr) int { return p.Addr().Compare(a) })
	return found || i > 0 && s[i-1].Contains(a)
}

// Covers reports whether all addresses of p are in the set, in one range or in several.
func (s Set) Covers(p netip.Prefix) bool {
	next := p.Addr() // the first address that may not be in the set
	for _, r := range s {
		switch {
		case r.Bits() <= p.Bits() && r.Contains(p.Addr()):
			return true
		case r.Addr() == next:
			if next = lastAddr(r).Next(); !p.Contains(next) {
				return true
			}
		}
	}
	return false
}

// lastAddr returns the last address of p.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// maxAddressLen is the length of the longest text of an address without a zone, in bytes.
const maxAddressLen = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")

// ParseAddr parses an address in any spelling, and drops its zone. It checks the characters before it
// calls netip.ParseAddr, because netip.ParseAddr allocates an error for other texts.
func ParseAddr(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(text, "%")
	if len(text) > maxAddressLen || !likeAddress(text) {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(text)
	return plain(a), err == nil
}

// likeAddress reports whether text has a dot or a colon, and only characters that addresses have.
func likeAddress(text string) (separated bool) {
	for _, c := range []byte(text) {
		switch {
		case c == '.' || c == ':':
			separated = true
		case c < '0' || c > '9' && c < 'A' || c > 'F' && c < 'a' || c > 'f':
			return false
		}
	}
	return separated
}
