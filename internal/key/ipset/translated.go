package ipset

import (
	"fmt"
	"net/netip"
	"strings"
)

// translated is the prefix of IPv6 addresses that a translator makes of IPv4 addresses (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// plain returns a without its zone. If a is an IPv4 address that is written as IPv6, plain returns the
// IPv4 address.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if translated.Contains(a) {
		return lastBytes(a)
	}
	return a
}

// lastBytes returns the IPv4 address that has the last four bytes of a.
func lastBytes(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// Translated are the prefixes of IPv6 addresses that the translators of one network make of IPv4
// addresses.
type Translated []netip.Prefix

// Append returns t with one more prefix. The prefix must have 96 bits.
func (t Translated) Append(text string) (Translated, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Bits() != 96 || p.Masked() != p || p.Addr().Is4In6() {
		return nil, fmt.Errorf("%q is no prefix of translated addresses: use the 96 bits that your translator puts before an IPv4 "+
			"address, such as 2001:db8:64::/96", text)
	}
	return append(t, p), nil
}

// IPv4 returns the IPv4 address in text, an address that a translator has written as IPv6, or one such
// as ::ffff:192.0.2.1. ok is false if text is something else.
func (t Translated) IPv4(text string) (ipv4 string, ok bool) {
	if strings.IndexByte(text, ':') < 0 {
		return "", false
	}
	a, is := ParseAddr(text)
	for _, p := range t {
		if is && p.Contains(a) {
			a = lastBytes(a)
		}
	}
	if !is || !a.Is4() {
		return "", false
	}
	return a.String(), true
}
