package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// manyLogged is the number of events above which a sliding window log probably takes more memory
	// for each key than its author meant.
	manyLogged = 10_000

	// manySubwindows is the same for the sub-windows of a sliding window.
	manySubwindows = 100
)

// Warnings returns what is probably a mistake in z, a zone of a, because it has no effect or takes
// much memory.
func (z *Zone) Warnings(a *App) (warnings []error) {
	add := func(warning error) {
		if warning != nil && !slices.ContainsFunc(warnings, func(other error) bool { return other.Error() == warning.Error() }) {
			warnings = append(warnings, warning)
		}
	}
	add(z.prefixWarning())
	algorithm := cmp.Or(z.Algorithm, a.DefaultSettings().Algorithm)
	if z.Legacy() {
		algorithm = &Algorithm{Name: limiter.SlidingWindowLog.String()}
		add(memoryWarning(algorithm, &Limit{Events: z.MaxEvents}))
	}
	place := func(algorithm *Algorithm, e Enforcement, limit *Limit, tiers map[string]*Tier) {
		add(memoryWarning(algorithm, limit))
		if a.Redis == nil {
			add(e.warning())
		}
		for _, name := range slices.Sorted(maps.Keys(tiers)) {
			add(memoryWarning(algorithm, cmp.Or(tiers[name].OwnLimit(), a.Tiers[name].OwnLimit())))
			if t := tiers[name]; t != nil && a.Redis == nil {
				add(t.warning())
			}
		}
	}
	var tiers map[string]*Tier
	if z.Tier != nil {
		tiers = z.Tier.Tiers
	}
	place(algorithm, z.Enforcement, z.Limit, tiers)
	for _, e := range z.Endpoints {
		place(cmp.Or(e.Algorithm, algorithm), e.Enforcement, e.Limit, e.Tiers)
	}
	return warnings
}

// Warnings returns which settings for all zones have no effect.
func (a *App) Warnings() (warnings []error) {
	if a.Redis != nil {
		return nil
	}
	if warning := a.DefaultSettings().warning(); warning != nil {
		warnings = append(warnings, fmt.Errorf("defaults: %w", warning))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Tiers)) {
		if warning := a.Tiers[name].warning(); warning != nil {
			warnings = append(warnings, fmt.Errorf("tier %s: %w", name, warning))
		}
	}
	return warnings
}

// warning returns why e has no effect where counts are in memory. It returns nil if e is empty or
// has only the default mode.
func (e Enforcement) warning() error {
	switch {
	case e.Mode == modeStrict:
		return fmt.Errorf("mode strict has no effect, because the counts are in this process, which decides each request: " +
			"use `redis` in the global option rate_limit, or no mode")
	case e.OnOutage != "":
		return fmt.Errorf("on_outage has no effect, because the counts are in this process, which has no outage: " +
			"use `redis` in the global option rate_limit, or no on_outage")
	}
	return nil
}

// memoryWarning returns how much memory a limit takes for each key, if that is much.
func memoryWarning(a *Algorithm, l *Limit) error {
	if a == nil || l == nil || l.Unlimited || l.Block {
		return nil
	}
	switch n := int64(a.Subwindows); {
	case a.Name == limiter.SlidingWindowLog.String() && l.Events > manyLogged:
		return fmt.Errorf("sliding_window_log remembers each of %d events, up to %s for each key: use `sliding_window 60`, "+
			"which takes 528 bytes", l.Events, sizeText(48+16*l.Events))
	case n > manySubwindows:
		return fmt.Errorf("sliding_window %d takes %s for each key: use `sliding_window 60`, which takes 528 bytes",
			n, sizeText(40+8*(n+1)))
	}
	return nil
}

// sizeText returns a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d bytes", n)
}

// prefixWarning returns why ipv4_prefix or ipv6_prefix has probably no effect. It returns nil if
// the zone sets on_missing_key to an address, because the prefix may be meant for requests without
// a key.
func (z *Zone) prefixWarning() error {
	name := "ipv6_prefix"
	if z.IPv6Prefix == nil {
		name = "ipv4_prefix"
	}
	if z.IPv6Prefix == nil && z.IPv4Prefix == nil || z.OnMissingKey != "" && mayHaveAddress(z.OnMissingKey) || mayHaveAddress(z.Key) {
		return nil
	}
	return fmt.Errorf("%s does not change how keys are counted, because %s is no address: use {client_ip} in the key, or "+
		"`on_missing_key {client_ip}` if it is meant for requests without a key", name, z.Key)
}

// mayHaveAddress reports whether a template may expand to an address. It judges headers, cookies,
// query parameters and what authentication sets by their names. Any other placeholder may be an
// address.
func mayHaveAddress(template string) bool {
	for i, part := range strings.Split(template, "{") {
		if i == 0 {
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(part), "}")
		namespace := strings.TrimPrefix(strings.TrimPrefix(name, "http."), "request.")
		named := slices.ContainsFunc([]string{"header.", "cookie.", "query.", "uri.query.", "auth."}, func(prefix string) bool {
			return strings.HasPrefix(namespace, prefix)
		})
		if !named || slices.ContainsFunc([]string{"ip", "addr", "for", "client", "remote", "peer", "host"}, func(word string) bool {
			return strings.Contains(namespace, word)
		}) {
			return true
		}
	}
	return false
}
