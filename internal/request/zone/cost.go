package zone

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// A cost is how many events a request counts for.
type cost struct {
	fixed       int64
	placeholder *keytemplate.Placeholder // nil if the cost is fixed
}

func newCost(settings *config.Cost) (c cost, err error) {
	switch {
	case settings == nil:
		c.fixed = 1
	case settings.Placeholder != "" && settings.Events != 0:
		return c, fmt.Errorf("cost has both events and a placeholder: use one of them")
	case settings.Placeholder != "":
		if c.placeholder, err = keytemplate.ParsePlaceholder(settings.Placeholder, settings.Trusted); err != nil {
			return c, fmt.Errorf("cost: %w", err)
		}
		if c.placeholder.Global {
			return fixedCost(c.placeholder)
		}
	case settings.Events < 1:
		return c, fmt.Errorf("cost is %d: use 1 or more", settings.Events)
	default:
		c.fixed = settings.Events
	}
	return c, nil
}

// fixedCost returns the cost of a placeholder whose value is the same for all requests.
func fixedCost(p *keytemplate.Placeholder) (cost, error) {
	text, _ := p.Value(nil, nil)
	n, err := config.ParseEvents(text)
	if err != nil || n < 1 {
		return cost{}, fmt.Errorf("cost: {%s} is %q when the configuration loads: use a number from 1", p.Name, text)
	}
	return cost{fixed: n}, nil
}

// fits returns an error if no request of this cost can ever pass r.
func (c cost) fits(r *rule) error {
	if r.Rule != nil && c.fixed > r.Capacity() {
		return config.ErrorIn("cost", fmt.Errorf("cost is %d, but at most %d can pass at once: use a lower cost, or a higher "+
			"limit or burst", c.fixed, r.Capacity()))
	}
	return nil
}

// eventsOf returns the cost of a request under r, from 1 to what r allows at once. The cost of a request
// is 1 if the placeholder is not present. A value below 1 or that is not a number counts as
// missing.
func (c cost) eventsOf(r *rule, req *http.Request, repl *caddy.Replacer) (int64, keytemplate.Presence) {
	if c.placeholder == nil {
		return min(c.fixed, r.Capacity()), keytemplate.Present // an override may lower the limit below it
	}
	text, presence := c.placeholder.Value(req, repl)
	if presence != keytemplate.Present {
		return 1, presence
	}
	n, _ := strconv.ParseInt(text, 10, 64) // the largest int64 if text is larger
	if n < 1 {
		return 1, keytemplate.Missing
	}
	return min(n, r.Capacity()), keytemplate.Present
}
