package config

import (
	"cmp"
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Enforcement says what decides requests when counts are in Redis, while Redis answers and in an
// outage. A tier or an endpoint takes what it does not set from the zone, and a zone takes it from
// the app's `defaults`. At an endpoint, the endpoint's tiers come first, then the endpoint itself,
// then the zone's tiers.
type Enforcement struct {
	// Selects what decides: with `lease`, nodes decide most requests by themselves, from events that
	// Redis has handed out to them; with `strict`, Redis decides every request. The limit is never
	// exceeded in either mode. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// Decides requests while the primary of Redis that has their count does not answer: with `local`,
	// each node keeps to a share of the limit; `open` admits all requests; `closed` answers 503.
	// Default: `local`.
	OnOutage string `json:"on_outage,omitempty"`
}

// The values of Enforcement.Mode.
const (
	modeLease  = "lease"
	modeStrict = "strict"
)

// DefaultEnforcement is the enforcement of limits that set none.
var DefaultEnforcement = Enforcement{modeLease, limiter.OutageLocal.String()}

// parseOnOutage parses what decides requests in an outage. "" stands for the default.
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
// endpoints embed Enforcement, and so have the method too.
func (e Enforcement) CheckEnforcement() error {
	if err := CheckWord("mode", e.Mode); err != nil {
		return err
	}
	_, err := parseOnOutage(e.OnOutage)
	return err
}

// Or returns e, in which the settings that e does not have are those of other.
func (e Enforcement) Or(other Enforcement) Enforcement {
	return Enforcement{cmp.Or(e.Mode, other.Mode), cmp.Or(e.OnOutage, other.OnOutage)}
}
