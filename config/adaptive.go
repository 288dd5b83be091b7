package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// Adaptive limits how many requests of all keys of a zone together are in flight at once. The
// latency of the responses decides the number.
type Adaptive struct {
	// Admits fewer requests while the median latency of the responses is this high or higher, 1ms to
	// 1m. Default: 500ms.
	MaxLatency caddy.Duration `json:"max_latency,omitempty"`

	// Never admits fewer requests at once than this. Default: 10, or `max` if that is lower.
	Min int `json:"min,omitempty"`

	// Never admits more requests at once than this. A zone begins with this number. Default: 1000, or
	// `min` if that is higher.
	Max int `json:"max,omitempty"`
}

// The defaults and the bounds of the settings of an Adaptive.
const (
	defaultMaxLatency = 500 * time.Millisecond
	defaultLeast      = 10
	defaultMost       = 1000
	maxAdaptive       = 1_000_000
)

// WithDefaults returns a copy of a in which settings that a does not set have their defaults.
func (a *Adaptive) WithDefaults() Adaptive {
	d := *a
	d.MaxLatency = cmp.Or(d.MaxLatency, caddy.Duration(defaultMaxLatency))
	switch {
	case d.Min == 0 && d.Max == 0:
		d.Min, d.Max = defaultLeast, defaultMost
	case d.Min == 0:
		d.Min = min(defaultLeast, d.Max)
	case d.Max == 0:
		d.Max = max(defaultMost, d.Min)
	}
	return d
}

// Check refuses settings that are out of bounds.
func (a *Adaptive) Check() error {
	latency := time.Duration(a.MaxLatency)
	switch {
	case latency != 0 && (latency < time.Millisecond || latency > time.Minute):
		return fmt.Errorf("max_latency is %v: use 1ms to 1m", latency)
	case a.Min < 0 || a.Min > maxAdaptive:
		return fmt.Errorf("min is %d: use 1 to %d", a.Min, maxAdaptive)
	case a.Max < 0 || a.Max > maxAdaptive:
		return fmt.Errorf("max is %d: use 1 to %d", a.Max, maxAdaptive)
	case a.Min > 0 && a.Min == a.Max:
		return fmt.Errorf("min and max are %d, so nothing adapts: use `concurrent %d`, or another max", a.Min, a.Min)
	case a.Max > 0 && a.Min > a.Max:
		return fmt.Errorf("min is %d, which is above max: use at most %d", a.Min, a.Max)
	}
	return nil
}

// adaptiveLine returns the subdirective `adaptive` with its block.
func adaptiveLine(d *caddyfile.Dispenser, a **Adaptive) subdirective.Line {
	return subdirective.Line{Usage: "adaptive` or `adaptive { ... }", Block: func([]string) error {
		c, place := new(Adaptive), subdirective.Here(d)
		*a = c
		err := subdirective.Block{Of: "adaptive", Optional: true, Remedies: remedies["block adaptive"], Lines: map[string]subdirective.Line{
			"max_latency": subdirective.Duration("max_latency", false, &c.MaxLatency),
			"min":         subdirective.Number("min", 1, maxAdaptive, &c.Min),
			"max":         subdirective.Number("max", 1, maxAdaptive, &c.Max),
		}}.Parse(d)
		if err != nil {
			return err
		}
		if err := c.Check(); err != nil {
			return place.Errf("adaptive: %w", err)
		}
		return nil
	}}
}

// NeedsNoKey reports whether z has `adaptive` and no key. Such a zone treats all requests alike.
func (z *Zone) NeedsNoKey() bool { return z.Adaptive != nil && z.Key == "" }

// CheckAdaptive refuses settings of `adaptive` that are out of bounds, and settings of z that have
// no effect beside `adaptive`.
func (z *Zone) CheckAdaptive() error {
	if z.Adaptive == nil {
		return nil
	}
	if err := z.Adaptive.Check(); err != nil {
		return fmt.Errorf("adaptive: %w", err)
	}
	if z.Key == "" {
		if setting := z.firstOfKeys(); setting != "" {
			return ErrorIn(setting, fmt.Errorf("%s needs a key: use `key`, such as {http.vars.client_ip}, or a zone with "+
				"`adaptive` alone", setting))
		}
	}
	if z.Limit != nil || z.Concurrent > 0 || z.Tier != nil || len(z.Endpoints) > 0 || z.OnMissingLimit != nil {
		return nil
	}
	if setting := z.firstOfLimits(); setting != "" {
		return ErrorIn(setting, fmt.Errorf("%s is for a limit, and `adaptive` has none: use `limit` beside it, or no %s", setting, setting))
	}
	return nil
}

// A setting is the name of a setting of a zone, and whether the zone has it.
type setting struct {
	name string
	set  bool
}

// firstSet returns the name of the first setting that is set, or "" if none is set.
func firstSet(settings []setting) string {
	for _, s := range settings {
		if s.set {
			return s.name
		}
	}
	return ""
}

// firstOfKeys returns the name of the first setting of z that needs a key, or "" if z has none.
func (z *Zone) firstOfKeys() string {
	return firstSet([]setting{
		{"limit", z.Limit != nil}, {"concurrent", z.Concurrent > 0}, {"tier", z.Tier != nil}, {"endpoint", len(z.Endpoints) > 0},
		{"on_missing_key", z.OnMissingKey != "" || z.OnMissingLimit != nil}, {"on_ambiguous_key", z.OnAmbiguousKey != ""},
		{"ipv4_prefix", z.IPv4Prefix != nil}, {"ipv6_prefix", z.IPv6Prefix != nil}, {"allow_key", len(z.AllowKeys) > 0},
		{"deny_key", len(z.DenyKeys) > 0},
	})
}

// firstOfLimits returns the name of the first setting of z that needs a limit, or "" if z has none.
func (z *Zone) firstOfLimits() string {
	return firstSet([]setting{
		{"algorithm", z.Algorithm != nil}, {"cost", z.Cost != nil}, {"count_status", len(z.CountStatus) > 0},
		{"mode", z.Mode != ""}, {"on_outage", z.OnOutage != ""}, {"max_keys", z.MaxKeys != 0}, {"max_memory", z.MaxMemory != 0}, {"wait", z.Wait != nil}, {"compare", z.Compare != nil},
	})
}

// errLegacyAdaptive refuses `adaptive` in a zone in the syntax of caddy-ratelimit.
var errLegacyAdaptive = errors.New("a zone with `window` has no adaptive: use `limit` instead of `window` and `max_events`")
