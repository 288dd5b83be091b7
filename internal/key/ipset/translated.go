package ipset

import (
	"fmt"
	"net/netip"
	"strings"
)

// translated is the prefix of IPv4 addresses that a translator has written as IPv6 (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// plain returns an address without its zone, and the IPv4 address in one that is written as IPv6.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if translated.Contains(a) {
		return lastBytes(a)
	}
	return a
}

// lastBytes returns the IPv4 address that the last four bytes of an address are.
func lastBytes(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// Translated are prefixes by which the translators of one network write IPv4 addresses as IPv6.
type Translated []netip.Prefix

// Append returns t with a prefix of 96 bits.
func (t Translated) Append(text string) (Translated, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Bits() != 96 || p.Masked() != p || p.Addr().Is4In6() {
		return nil, fmt.Errorf("%q is no prefix of translated addresses: use the 96 bits that your translator puts before an IPv4 "+
			"address, such as 2001:db8:64::/96", text)
	}
	return append(t, p), nil
}

// IPv4 returns the text of the IPv4 address in one that is written as IPv6: by a translator, or as
// ::ffff:192.0.2.1. ok is false if text is another address, or none.
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
