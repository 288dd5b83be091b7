package zone

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/text/glob"
)

// compileKeyLists compiles the patterns of the keys that the zone allows and denies.
func (z *Zone) compileKeyLists(settings *config.Zone) (err error) {
	if z.allow, err = z.compileKeyList(settings, settings.AllowKeys, "use `limit unlimited`, or no zone"); err != nil {
		return config.ErrorIn("allow_key", fmt.Errorf("allow_key: %w", err))
	}
	if z.deny, err = z.compileKeyList(settings, settings.DenyKeys, "use `limit block`"); err != nil {
		return config.ErrorIn("deny_key", fmt.Errorf("deny_key: %w", err))
	}
	for _, p := range settings.AllowKeys {
		if by, denied := z.deny.Covers(p); denied {
			return config.ErrorIn("allow_key", fmt.Errorf("allow_key: %q allows no key, because deny_key %s comes first: use a "+
				"narrower deny_key, or none", p, by))
		}
	}
	return nil
}

// compileKeyList compiles patterns of keys. forAll is the remedy of one that matches all keys.
func (z *Zone) compileKeyList(settings *config.Zone, patterns []string, forAll string) (glob.Set, error) {
	for _, p := range patterns {
		if p != "" && strings.Trim(p, "*") == "" {
			return glob.Set{}, fmt.Errorf("%q is every key: %s", p, forAll)
		}
		if err := glob.Check(p); err != nil {
			return glob.Set{}, err
		}
		if err := z.checkAddressKey(settings, p); err != nil {
			return glob.Set{}, err
		}
		if strings.HasSuffix(p, ",") && !strings.Contains(settings.Key, ",") {
			return glob.Set{}, fmt.Errorf("%q ends with a comma: use spaces between patterns", p)
		}
		z.warnAboutPattern(settings.Key, p)
	}
	return glob.Parse(patterns)
}

// ListsKey reports whether the lists of the zone allow or deny a key as text. A key that is denied
// may be on both.
func (z *Zone) ListsKey(text string) (allowed, denied bool) {
	return z.allow.Match(text), z.deny.Match(text)
}

// warnAboutPattern warns about a pattern that probably matches other keys than were meant.
func (z *Zone) warnAboutPattern(key, pattern string) {
	if warning := glob.Warning(pattern); warning != "" {
		z.Warnings = append(z.Warnings, errors.New(warning))
	}
	if strings.Contains(pattern, ",") && !strings.Contains(key, ",") {
		z.Warnings = append(z.Warnings, fmt.Errorf("%q is one pattern with a comma: use spaces between patterns", pattern))
	}
	if _, err := netip.ParsePrefix(pattern); err == nil && !isAddressKey(key) {
		z.Warnings = append(z.Warnings, fmt.Errorf("%q is compared with keys as text: use `allow %s` or `deny %s` in "+
			"rate_limit itself for the addresses of clients", pattern, pattern, pattern))
	}
}

// isAddressKey reports whether a zone counts by the client's address alone.
func isAddressKey(key string) bool {
	return slices.Contains([]string{clientIP, "{client_ip}", "{http.request.remote.host}", "{remote_host}"}, key)
}

// checkAddressKey refuses an address or a range that is no key of a zone by the client's address,
// because it is not as long as the zone's prefixes.
func (z *Zone) checkAddressKey(settings *config.Zone, pattern string) error {
	if !isAddressKey(settings.Key) {
		return nil
	}
	r, err := ipset.ParsePrefix(pattern)
	if err != nil {
		return nil
	}
	bits, own := 32, settings.IPv4Prefix
	if r.Addr().Is6() {
		if bits, own = 64, settings.IPv6Prefix; z.Legacy {
			bits = 128
		}
	}
	if own != nil {
		bits = *own
	}
	counted, err := r.Addr().Prefix(bits)
	switch key := ipset.Format(counted); {
	case err != nil || key == pattern: // the prefix is refused elsewhere
		return nil
	case r.Bits() < bits:
		return fmt.Errorf("%q is a range of keys: use `allow %s` or `deny %s` in rate_limit itself", pattern, pattern, pattern)
	default:
		return fmt.Errorf("%q is no key of this zone, which counts it as %s: use that", pattern, key)
	}
}
