package fleetlimit

import (
	"cmp"
	"fmt"
	"math"
)

// The values of Consistency.Mode.
const (
	modeLease  = "lease"
	modeStrict = "strict"
)

// defaultMaxOvershoot is the default of Consistency.MaxOvershoot.
const defaultMaxOvershoot = 0.01

// parseMode parses a mode. "" is the default.
func parseMode(mode string) (strict bool, err error) {
	switch mode {
	case "", modeLease:
		return false, nil
	case modeStrict:
		return true, nil
	}
	return false, fmt.Errorf("mode is %q: use strict, so that Redis decides every request, or lease", mode)
}

func (c Consistency) validate() error {
	if _, err := parseMode(c.Mode); err != nil {
		return err
	}
	if p := c.MaxOvershoot; p != nil && !(*p >= 0 && *p <= 1) { // nor NaN
		return fmt.Errorf("max_overshoot is %v: use a fraction from 0 to 1, such as 0.01 for 1%%", *p)
	}
	return nil
}

// or returns c with what it does not set taken from other.
func (c Consistency) or(other Consistency) Consistency {
	return Consistency{cmp.Or(c.Mode, other.Mode), cmp.Or(c.MaxOvershoot, other.MaxOvershoot)}
}

// overshoot returns the largest fraction of a limit of z by which a fleet may exceed it.
func (z *zone) overshoot() (most float64) {
	for _, e := range z.endpoints {
		for _, r := range e.rules {
			if r != nil && r.Rule != nil && !r.Strict {
				most = max(most, r.MaxOvershoot)
			}
		}
	}
	return most
}

// publishOvershoot sets the bounds of the app's zones in the metrics.
func (a *App) publishOvershoot() {
	a.mu.Lock()
	defer a.mu.Unlock()
	bounds := make(map[*zoneState]float64) // two sites may share a zone
	for _, z := range a.zones {
		most := 0.0
		if a.store.leases != nil {
			most = z.overshoot()
		}
		bounds[z.zoneState] = max(bounds[z.zoneState], most)
	}
	for z, most := range bounds {
		z.maxOvershoot.Store(math.Float64bits(most))
	}
}
