package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// Charge decides what a request is charged when its response has ended, in place of its cost. Until
// then the request has reserved events. As a text, it is what follows `charge` in a Caddyfile: the
// source, `reserve` and `refund_on`.
type Charge struct {
	// Takes the cost of the request from this part of the response: `usage` is the last usage object
	// of a JSON or SSE body, in the forms of OpenAI and Anthropic; a placeholder such as
	// `{http.response.header.X-Tokens}` is a header or a trailer. Required.
	From string `json:"from,omitempty"`

	// Reserves this many events while the request is under way: a number; a placeholder of the
	// request, which `trusted` may follow; or `auto`, the 95th percentile of what the last responses
	// of the key were charged. Default: `auto`.
	Reserve string `json:"reserve,omitempty"`

	// Gives the whole reservation back if the upstream answers with one of these statuses. Default:
	// `4xx 5xx`.
	RefundOn Statuses `json:"refund_on,omitempty"`
}

const (
	// ChargeUsage is the source of a charge that is taken from the usage object of the body.
	ChargeUsage = "usage"

	// reserveAuto is the reservation that is estimated from the last charges of the key.
	reserveAuto = "auto"

	chargeUsage = "charge <placeholder>|usage [reserve <n>|<placeholder>|auto] [refund_on <status...>]"
)

// refundOn is the default of Charge.RefundOn.
var refundOn = Statuses{"4xx", "5xx"}

// UnmarshalJSON accepts what follows `charge` in a Caddyfile.
func (c *Charge) UnmarshalJSON(data []byte) error {
	if isText(data) {
		parsed, err := parseCharge(strings.Fields(textOf(data)))
		if err == nil {
			*c = *parsed
		}
		return err
	}
	if !isObject(data) {
		return fmt.Errorf(`%s is not a charge: use one such as "usage reserve auto", or an object such as {"from": "usage"}`, data)
	}
	var fields struct {
		From     string          `json:"from"`
		Reserve  reserveText     `json:"reserve"`
		RefundOn json.RawMessage `json:"refund_on"`
	}
	if err := decode(data, &fields); err != nil {
		return err
	}
	*c = Charge{From: fields.From, Reserve: string(fields.Reserve)}
	if fields.RefundOn == nil {
		return nil
	}
	return c.RefundOn.unmarshal(fields.RefundOn, "refund_on")
}

// reserveText is a reservation, which may be a number.
type reserveText string

// UnmarshalJSON accepts a text or a number.
func (r *reserveText) UnmarshalJSON(data []byte) error {
	if *r = reserveText(data); isText(data) {
		*r = reserveText(textOf(data))
	}
	return nil
}

// parseCharge parses what follows `charge`.
func parseCharge(args []string) (*Charge, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("charge is empty: use `%s`", chargeUsage)
	}
	c := &Charge{From: args[0]}
	for rest := args[1:]; len(rest) > 0; {
		words := 1
		for words < len(rest) && rest[words] != "reserve" && rest[words] != "refund_on" {
			words++
		}
		values := rest[1:words]
		switch {
		case rest[0] == "reserve" && c.Reserve == "" && (len(values) == 1 || len(values) == 2):
			c.Reserve = strings.Join(values, " ")
		case rest[0] == "refund_on" && c.RefundOn == nil && len(values) > 0:
			c.RefundOn = values
		default:
			return nil, fmt.Errorf("unexpected %q: use `%s`", strings.Join(rest, " "), chargeUsage)
		}
		rest = rest[words:]
	}
	return c, c.Check()
}

// Check returns an error if c is not a valid charge.
func (c *Charge) Check() error {
	if err := c.checkFrom(); err != nil {
		return err
	}
	if _, _, err := c.ReserveCost(); err != nil && !errors.Is(err, keytemplate.ErrUnset) {
		return err
	}
	_, err := c.Refunds()
	return err
}

// checkFrom refuses a source that tells no cost, or that clients control.
func (c *Charge) checkFrom() error {
	switch {
	case c.From == ChargeUsage:
		return nil
	case !strings.HasPrefix(c.From, "{"):
		return fmt.Errorf("%q says no cost: use `charge usage`, or a placeholder such as `charge {http.response.header.X-Tokens}`", c.From)
	}
	name, ok := keytemplate.OfResponse(c.From)
	switch {
	case ok:
		return nil
	case strings.HasPrefix(name, "http.request."):
		return fmt.Errorf("%s is a placeholder of the request, which does not tell yet what it costs: use what the response says, such as "+
			"`charge {http.response.header.X-Tokens}`", c.From)
	}
	_, err := keytemplate.ParsePlaceholder(c.From, false)
	return err
}

// Refunds returns the statuses that give the whole reservation back.
func (c *Charge) Refunds() (*StatusSet, error) {
	statuses := c.RefundOn
	if len(statuses) == 0 {
		statuses = refundOn
	}
	return statuses.compile("refund_on")
}

// ReserveCost returns the reservation as the cost of a request. auto reports that the reservation
// is estimated instead.
func (c *Charge) ReserveCost() (cost *Cost, auto bool, err error) {
	words := strings.Fields(c.Reserve)
	if len(words) == 0 || len(words) == 1 && words[0] == reserveAuto {
		return nil, true, nil
	}
	cost, err = parseCost(words)
	if err != nil {
		return nil, false, fmt.Errorf("reserve: %w", err)
	}
	return cost, false, nil
}

// Unit returns the name of what c counts: "token" or "event". It returns "" if c is nil.
func (c *Charge) Unit() string {
	switch {
	case c == nil:
		return ""
	case c.From == ChargeUsage:
		return "token"
	}
	return "event"
}

// String returns the charge as a Caddyfile has it after `charge`.
func (c *Charge) String() string {
	text := c.From
	if c.Reserve != "" {
		text += " reserve " + c.Reserve
	}
	if len(c.RefundOn) > 0 {
		text += " refund_on " + strings.Join(c.RefundOn, " ")
	}
	return text
}

// CheckCharge refuses a charge that is wrong, a charge beside a cost or statuses of the same zone
// or endpoint, and a highest charge that is negative.
func CheckCharge(charge *Charge, most int64, cost *Cost, counts Statuses) error {
	switch {
	case charge != nil && cost != nil:
		return ErrorIn("charge", errors.New("charge and cost both say what a request costs: use `reserve` of charge in place of cost"))
	case charge != nil && len(counts) > 0:
		return ErrorIn("charge", errors.New("charge and count_status both say what counts: use `refund_on` of charge in place of "+
			"count_status"))
	case most < 0:
		return ErrorIn("charge_max", fmt.Errorf("charge_max is %d: use 1 or more", most))
	case charge == nil:
		return nil
	}
	return ErrorIn("charge", charge.Check())
}

// Charges reports whether any request of the zone is charged after its response.
func (z *Zone) Charges() bool {
	charges := z.Charge != nil
	for _, e := range z.Endpoints {
		charges = charges || e != nil && e.Charge != nil
	}
	return charges
}

// chargeLine returns the subdirective with a charge.
func chargeLine(c **Charge) subdirective.Line {
	return subdirective.Value(chargeUsage, 1, subdirective.AnyNumber, c, parseCharge).InWords()
}

// chargeMaxLine returns the subdirective with the highest charge.
func chargeMaxLine(most *int64) subdirective.Line {
	return subdirective.Value("charge_max <n>", 1, 1, most, func(args []string) (int64, error) {
		n, err := ParseEvents(args[0])
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is not the most that a response is charged: use a number from 1", args[0])
		}
		return n, nil
	})
}
