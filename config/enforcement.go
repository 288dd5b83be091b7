package config

import (
	"cmp"
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Enforcement is what decides requests when counts are in Redis: while it answers, and in an outage.
// What a tier or an endpoint does not set, it takes from the zone, and that from the app's
// `defaults`. At an endpoint, its tiers come first, then the endpoint itself, then the zone's tier.
type Enforcement struct {
	// Selects what decides: with `lease`, nodes decide most requests by themselves, from events that
	// Redis has handed out to them; with `strict`, Redis decides every request. The limit is never
	// exceeded in either mode. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// Decides requests while the primary of Redis that has their count does not answer: `local` keeps
	// to a share of the limit on each node, `open` admits all of them, and `closed` answers 503.
	// Default: `local`.
	OnOutage string `json:"on_outage,omitempty"`
}

// The values of Enforcement.Mode.
const (
	modeLease  = "lease"
	modeStrict = "strict"
)

// DefaultEnforcement is that of limits that set none.
var DefaultEnforcement = Enforcement{modeLease, limiter.OutageLocal.String()}

// parseOnOutage parses what decides requests in an outage. "" is the default.
func parseOnOutage(name string) (limiter.OutageMode, error) {
	m, err := limiter.ParseOutageMode(cmp.Or(name, DefaultEnforcement.OnOutage))
	if err != nil {
		err = fmt.Errorf("on_outage is %q: use local, so that each node keeps to a share of the limit, open or closed", name)
	}
	return m, err
}

// Apply sets what e describes in a rule.
func (e Enforcement) Apply(r *limiter.Rule) (err error) {
	r.Strict = e.Mode == modeStrict
	r.OnOutage, err = parseOnOutage(e.OnOutage)
	return err
}

// CheckEnforcement refuses values that e cannot have. It has a long name because zones, tiers and
// endpoints have it too.
func (e Enforcement) CheckEnforcement() error {
	if err := CheckWord("mode", e.Mode); err != nil {
		return err
	}
	_, err := parseOnOutage(e.OnOutage)
	return err
}

// Or returns e with what it does not set taken from other.
func (e Enforcement) Or(other Enforcement) Enforcement {
	return Enforcement{cmp.Or(e.Mode, other.Mode), cmp.Or(e.OnOutage, other.OnOutage)}
}
