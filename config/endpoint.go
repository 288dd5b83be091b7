package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// CheckOwnLimit refuses settings of e that need a limit of its own if e has none. The requests of e
// are then charged to the count of the zone, which has one algorithm and one enforcement.
// CheckOwnLimit also refuses an endpoint that changes nothing.
func (e *Endpoint) CheckOwnLimit() error {
	if e.Limit != nil {
		return nil
	}
	limited, concurrent := false, e.Concurrent != 0
	for _, name := range slices.Sorted(maps.Keys(e.Tiers)) {
		t := e.Tiers[name]
		if t == nil {
			continue
		}
		limited, concurrent = limited || t.Limited(), concurrent || t.Concurrent != 0
		if setting := t.first(); setting != "" && !t.Limited() {
			return ErrorIn("tier", fmt.Errorf("tier %q: %s needs a limit of its own: use `%s <rate>`, or %s in the tier of the zone",
				name, setting, name, setting))
		}
	}
	if limited {
		return nil
	}
	setting := e.Enforcement.first()
	if e.Algorithm != nil {
		setting = "algorithm"
	}
	switch {
	case setting != "":
		return ErrorIn(setting, fmt.Errorf("%s needs a limit of its own, because without one the requests are charged to the "+
			"count of the zone: use `limit <rate>` in the endpoint, or %s in the zone", setting, setting))
	case e.Cost == nil && len(e.CountStatus) == 0 && e.Wait == nil && e.Charge == nil && e.ChargeMax == 0 && !concurrent:
		return errors.New("has neither a limit nor a cost, so it changes nothing: use `endpoint <path> <rate>` for a count of " +
			"its own, or `cost <n>` or `concurrent <n>` in its block")
	}
	return nil
}

// first returns the name of the first setting that e has, or "".
func (e Enforcement) first() string {
	switch {
	case e.Mode != "":
		return "mode"
	case e.OnOutage != "":
		return "on_outage"
	}
	return ""
}
