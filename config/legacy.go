package config

import "fmt"

// Legacy reports whether z is in the syntax of caddy-ratelimit.
func (z *Zone) Legacy() bool { return z.Window != 0 || z.MaxEvents != 0 }

// FromLegacy translates a zone in the syntax of caddy-ratelimit into the syntax of this package, as
// a sliding window log. What else differs in that plugin, such as how it makes keys, is left to
// package zone.
func FromLegacy(z *Zone) (*Zone, error) {
	switch {
	case z.Limit != nil:
		return nil, fmt.Errorf("both `limit` and `window` with `max_events`: use only `limit`")
	case z.Window <= 0:
		return nil, fmt.Errorf("max_events without a window: use \"window\": \"1m\", or `limit`")
	case z.MaxEvents < 0:
		return nil, fmt.Errorf("max_events is %d: use 0 to block, or more", z.MaxEvents)
	case z.OnAmbiguousKey != "", z.OnPath != "", z.OnMissingLimit != nil, z.Algorithm != nil, z.Tier != nil, len(z.Endpoints) > 0,
		z.Cost != nil, len(z.CountStatus) > 0, z.Wait != nil, z.Charge != nil, z.ChargeMax != 0, z.Compare != nil,
		z.Enforcement != Enforcement{}:
		return nil, fmt.Errorf("a zone with `window` has no on_ambiguous_key, on_path, on_missing_limit, algorithm, tier, endpoint, " +
			"cost, count_status, wait, charge, compare, mode or on_outage, as in caddy-ratelimit: use `limit` instead of `window` and `max_events`")
	case z.Adaptive != nil:
		return nil, errLegacyAdaptive
	}
	nilIfZero := func(prefix *int) *int {
		if prefix != nil && *prefix == 0 {
			return nil
		}
		return prefix
	}
	c := *z
	c.Window, c.MaxEvents = 0, 0
	c.Limit = &Limit{Events: z.MaxEvents, Window: z.Window, Block: z.MaxEvents == 0}
	c.Algorithm = &Algorithm{Name: "sliding_window_log"}
	c.IPv4Prefix, c.IPv6Prefix = nilIfZero(z.IPv4Prefix), nilIfZero(z.IPv6Prefix)
	return &c, nil
}
