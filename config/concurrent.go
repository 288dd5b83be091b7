package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// maxConcurrent is the highest number of requests at once.
const maxConcurrent = 1_000_000_000

// CheckConcurrent refuses a number of requests at once that is out of bounds. 0 stands for no such
// limit.
func CheckConcurrent(n int) error {
	if n < 0 || n > maxConcurrent {
		return fmt.Errorf("concurrent is %d: use 1 to %d, or the limit block to reject every request", n, maxConcurrent)
	}
	return nil
}

// concurrentLine returns a subdirective with a number of requests at once.
func concurrentLine(n *int) subdirective.Line {
	l := subdirective.Number("concurrent", 1, maxConcurrent, n)
	parse := l.Parse
	l.Parse = func(args []string) error {
		if args[0] == "0" {
			return errors.New("concurrent 0 admits nothing: use `limit block` to reject every request")
		}
		return parse(args)
	}
	return l
}

// The bounds of max_hold and hold_after_cancel.
const (
	minHold        = time.Second
	maxHold        = 30 * 24 * time.Hour
	maxAfterCancel = time.Hour
)

// CheckHold refuses max_hold and hold_after_cancel if they are out of bounds, or have no effect
// because the zone has no `concurrent`.
func (z *Zone) CheckHold() error {
	hold, after := time.Duration(z.MaxHold), time.Duration(z.HoldAfterCancel)
	set := firstSet([]setting{{"max_hold", hold != 0}, {"hold_after_cancel", after != 0}})
	switch {
	case set == "":
		return nil
	case hold != 0 && (hold < minHold || hold > maxHold):
		return ErrorIn(set, fmt.Errorf("max_hold is %v: use 1s to 30d", hold))
	case after != 0 && (after < minHold || after > maxAfterCancel):
		return ErrorIn("hold_after_cancel", fmt.Errorf("hold_after_cancel is %v: use 1s to 1h, such as 30s", after))
	case !z.limitsAtOnce():
		return ErrorIn(set, fmt.Errorf("%s is for `concurrent`, and the zone has none: use `concurrent` beside it, or no %[1]s", set))
	}
	return nil
}

// limitsAtOnce reports whether `concurrent` limits any requests of z.
func (z *Zone) limitsAtOnce() bool {
	tiers := func(all map[string]*Tier) bool {
		for _, t := range all {
			if t == nil || t.Concurrent > 0 { // a nil tier is that of the app, which may have the setting
				return true
			}
		}
		return false
	}
	return z.Concurrent > 0 || z.Tier != nil && tiers(z.Tier.Tiers) ||
		slices.ContainsFunc(z.Endpoints, func(e *Endpoint) bool { return e != nil && (e.Concurrent > 0 || tiers(e.Tiers)) })
}
