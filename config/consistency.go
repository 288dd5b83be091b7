package config

import (
	"cmp"
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Consistency is how closely the nodes that share a Redis keep to a limit, and what they do without
// it. What a tier or an endpoint does not set, it takes from the zone, and that from the app's
// `defaults`. At an endpoint, its tiers come first, then the endpoint itself, then the zone's tier.
type Consistency struct {
	// Selects what decides: with `lease`, nodes decide most requests by themselves, from events that
	// Redis has handed out to them; with `strict`, Redis decides every request. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// Lets all nodes together exceed the limit by at most this fraction, 0 to 1, or percentage, such
	// as `1%`. Default: `1%`.
	MaxOvershoot *Fraction `json:"max_overshoot,omitempty"`

	// Decides requests while the primary of Redis that has their count does not answer: `local` keeps
	// to a share of the limit on each node, `open` admits all of them, and `closed` answers 503.
	// Default: `local`.
	OnOutage string `json:"on_outage,omitempty"`
}

// The values of Consistency.Mode.
const (
	modeLease  = "lease"
	modeStrict = "strict"
)

// defaultMaxOvershoot is the default of Consistency.MaxOvershoot.
const defaultMaxOvershoot = 0.01

// parseOnOutage parses what decides requests in an outage. "" is the default.
func parseOnOutage(name string) (limiter.OutageMode, error) {
	m, err := limiter.ParseOutageMode(cmp.Or(name, limiter.OutageLocal.String()))
	if err != nil {
		err = fmt.Errorf("on_outage is %q: use local, so that each node keeps to a share of the limit, open or closed", name)
	}
	return m, err
}

// Apply sets what c describes in a rule.
func (c Consistency) Apply(r *limiter.Rule) (err error) {
	r.Strict, r.MaxOvershoot = c.Mode == modeStrict, defaultMaxOvershoot
	if c.MaxOvershoot != nil {
		r.MaxOvershoot = float64(*c.MaxOvershoot)
	}
	r.OnOutage, err = parseOnOutage(c.OnOutage)
	return err
}

// CheckConsistency refuses values that c cannot have. It has a long name because zones, tiers and
// endpoints have it too.
func (c Consistency) CheckConsistency() error {
	if err := CheckWord("mode", c.Mode); err != nil {
		return err
	}
	if _, err := parseOnOutage(c.OnOutage); err != nil {
		return err
	}
	if p := c.MaxOvershoot; p != nil && !(*p >= 0 && *p <= 1) { // nor NaN
		return fmt.Errorf("max_overshoot is %v: use a fraction from 0 to 1, such as 0.01 for 1%%", *p)
	}
	return nil
}

// Or returns c with what it does not set taken from other.
func (c Consistency) Or(other Consistency) Consistency {
	return Consistency{
		cmp.Or(c.Mode, other.Mode), cmp.Or(c.MaxOvershoot, other.MaxOvershoot), cmp.Or(c.OnOutage, other.OnOutage),
	}
}
