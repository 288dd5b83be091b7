package zone

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A LateCharge is how requests are charged when their responses have ended.
type LateCharge struct {
	Usage       bool              // by the body
	Placeholder string            // else by this one, without braces
	Header      string            // which is this header or trailer of the response; "" if it is neither
	Refunds     *config.StatusSet // the statuses that give the reservation back
	Past        *usage.ChargeHistory

	text    string
	reserve cost
	auto    bool  // the reservation is foreseen
	most    int64 // that a response is charged; 0 for mostLimits
}

const (
	// mostLimits is how many limits a response is charged at most, unless there is a setting.
	mostLimits = 100

	// firstShare is which part of the limit is reserved while nothing is known of what responses cost.
	firstShare = 20
)

// lateCharge compiles the charge at an endpoint, or in the rest of the zone. It returns nil if
// there is none.
func (b *ruleBuilder) lateCharge(e *config.Endpoint, endpoint string) (*LateCharge, error) {
	settings := b.chargeOf(e)
	if settings == nil {
		return nil, nil
	}
	most := cmp.Or(e.ChargeMax, b.zone.ChargeMax)
	c := &LateCharge{Usage: settings.From == config.ChargeUsage, most: most, text: settings.String(), Past: new(usage.ChargeHistory)}
	if !c.Usage {
		name, ofResponse := keytemplate.OfResponse(settings.From)
		if !ofResponse {
			p, err := keytemplate.ParsePlaceholder(settings.From, false)
			if err != nil {
				return nil, err
			}
			name = p.Name
		}
		c.Placeholder, c.Header = name, keytemplate.ResponseHeader(name)
	}
	if b.usage != nil {
		c.Past = b.usage.PastCharges(endpoint)
		b.usage.Charges.Used.Store(true)
	}
	var err error
	if c.Refunds, err = settings.Refunds(); err != nil {
		return nil, err
	}
	var reserve *config.Cost
	if reserve, c.auto, err = settings.ReserveCost(); err != nil || c.auto {
		return c, err
	}
	if c.reserve, err = newCost(reserve); err != nil {
		return nil, fmt.Errorf("reserve: %w", err)
	}
	if most > 0 && c.reserve.fixed > most {
		return nil, fmt.Errorf("reserve is %d, above charge_max: use at most %d, or a higher charge_max", c.reserve.fixed, most)
	}
	return c, nil
}

// Reserves returns the placeholder of what is reserved, nil if that is read from no request.
func (c *LateCharge) Reserves() *keytemplate.Placeholder { return c.reserve.placeholder }

// chargeOf returns the charge at an endpoint, or in the rest of the zone, nil if there is none.
func (b *ruleBuilder) chargeOf(e *config.Endpoint) *config.Charge {
	if e.Charge == nil && e.Cost == nil && len(e.CountStatus) == 0 {
		return b.zone.Charge
	}
	return e.Charge
}

// unitOf returns what the count of an endpoint counts, or that of the rest of the zone, for which e
// is empty. Endpoints without a limit of their own charge that, too.
func (b *ruleBuilder) unitOf(e *config.Endpoint) string {
	charge := b.chargeOf(e)
	if e.Path == "" {
		for _, other := range b.zone.Endpoints {
			if charge == nil && other != nil && other.Limit == nil {
				charge = b.chargeOf(other)
			}
		}
	}
	return charge.Unit()
}

// fits returns an error if no request with this reservation can ever pass r.
func (c *LateCharge) fits(r *rule) error {
	if r.Rule != nil && c.reserve.fixed > r.Capacity() {
		return config.ErrorIn("charge", fmt.Errorf("reserve is %d, but at most %d can pass at once: use a lower one, or a higher "+
			"limit or burst", c.reserve.fixed, r.Capacity()))
	}
	return nil
}

// reservation returns how many events a request of key reserves under r: from 1 to what r allows at
// once.
func (c *LateCharge) reservation(r *rule, key []byte, req *http.Request, repl *caddy.Replacer) (
	n int64, why response.Reservation, has keytemplate.Presence,
) {
	why = response.ReservedUntilKnown
	if !c.auto {
		n, has = c.reserve.eventsOf(r, req, repl)
		return n, why, has
	}
	n, by := c.Past.Foresee(key)
	switch by {
	case usage.ForeseenByNone:
		n = r.Capacity() / firstShare
	case usage.ForeseenByAll:
		why = response.ReservedAsAll
	case usage.ForeseenByKey:
		why = response.ReservedAsKey
	}
	return max(1, min(n, r.Capacity())), why, keytemplate.Present
}

// Most returns how many events a response is charged at most under r.
func (c *LateCharge) Most(r *limiter.Rule) int64 {
	if c.most > 0 {
		return c.most
	}
	return mostLimits * r.Capacity()
}

// String returns the charge as a Caddyfile has it.
func (c *LateCharge) String() string { return c.text }

// checkCharges refuses settings about charges in a zone that charges nothing.
func (b *ruleBuilder) checkCharges(all []endpointRules) error {
	if !b.zone.Charges() {
		most := b.zone.ChargeMax
		for _, e := range b.zone.Endpoints {
			most = max(most, e.ChargeMax)
		}
		if most > 0 {
			return config.ErrorIn("charge_max", errors.New("charge_max without a charge: use `charge usage`, or no charge_max"))
		}
		return nil
	}
	for i := range all {
		for _, r := range all[i].rules {
			if r != nil {
				return nil
			}
		}
	}
	return config.ErrorIn("charge", errors.New("charge has no limit to charge: use `limit`, such as `limit 100000/1m`"))
}
