package fleetlimit

import "fmt"

// fromLegacy returns the definition of a zone in the syntax of caddy-ratelimit as this package would say it: a sliding window
// log, one count for all requests without a key, whole IPv6 addresses, and max_events 0 blocks.
func fromLegacy(z *Zone) (*Zone, error) {
	switch {
	case z.Limit != nil:
		return nil, fmt.Errorf("has both `limit` and `window`/`max_events`: keep `limit`")
	case z.Window <= 0:
		return nil, fmt.Errorf("has max_events but no window: say \"window\": \"1m\", or use `limit`")
	case z.MaxEvents < 0:
		return nil, fmt.Errorf("max_events is %d: say 0 to block, or more", z.MaxEvents)
	case z.OnAmbiguousKey != "":
		return nil, fmt.Errorf("with `window` it is a zone of caddy-ratelimit, whose keys are never ambiguous: use `limit` " +
			"instead of `window` and `max_events`, or remove on_ambiguous_key")
	case z.Algorithm != nil || z.Tier != nil || len(z.Endpoints) > 0 || z.Cost != nil || z.Mode != "" || z.MaxOvershoot != nil:
		return nil, fmt.Errorf("with `window` it is a zone of caddy-ratelimit, which knows no algorithm, tier, endpoint, " +
			"cost, mode or max_overshoot: say `limit` instead of `window` and `max_events`")
	}
	m := *z
	m.Window, m.MaxEvents = 0, 0
	m.Limit = &Limit{Events: z.MaxEvents, Window: z.Window, Block: z.MaxEvents == 0}
	m.Algorithm = &Algorithm{Name: "sliding_window_log"}
	m.IPv4Prefix, m.IPv6Prefix = unset(z.IPv4Prefix), unset(z.IPv6Prefix)
	return &m, nil
}

// unset returns the prefix length p, where 0 says that none is set.
func unset(p *int) *int {
	if p != nil && *p == 0 {
		return nil
	}
	return p
}
