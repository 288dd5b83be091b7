package fleetlimit

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"
)

// A cost is how many events a request counts for.
type cost struct {
	fixed int64
	read  reader // nil: fixed
}

func newCost(config *Cost) (cost, error) {
	switch {
	case config == nil:
		return cost{fixed: 1}, nil
	case config.Placeholder != "" && config.Events != 0:
		return cost{}, fmt.Errorf("cost: say a number or a placeholder, not both")
	case config.Placeholder != "":
		read, _, err := trustedReader(config.Placeholder, config.Trusted)
		if err != nil {
			return cost{}, fmt.Errorf("cost: %w", err)
		}
		return cost{read: read}, nil
	case config.Events < 1:
		return cost{}, fmt.Errorf("cost is %d: say 1 or more", config.Events)
	}
	return cost{fixed: config.Events}, nil
}

// fits returns an error when no request of this cost can ever pass r.
func (c cost) fits(r *rule) error {
	if c.read == nil && r.Rule != nil && c.fixed > r.Capacity() {
		return fmt.Errorf("cost is %d, but at most %s can pass at once: lower the cost, or raise the limit or its burst",
			c.fixed, amount(r.Capacity(), "event"))
	}
	return nil
}

// of returns the cost of a request under r, within 1 and what r allows at once. A placeholder that is not a number, or one
// below 1, counts as missing. What is not present costs 1.
func (c cost) of(r *rule, req *http.Request, repl *caddy.Replacer) (n int64, has presence) {
	if c.read == nil {
		return c.fixed, present
	}
	text, has := c.read(req, repl)
	if has != present {
		return 1, has
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && n <= 0 || n < 1 { // of a number that is too large, ParseInt returns the largest
		return 1, missing
	}
	return min(n, r.Capacity()), present
}
