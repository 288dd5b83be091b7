package fleetlimit

import (
	"fmt"
	"math"
)

// The modes in which the nodes of a fleet enforce a limit together.
const (
	modeLease  = "lease"
	modeStrict = "strict"
)

// defaultMaxOvershoot is the fraction of a limit by which a fleet may exceed it when nothing is said.
const defaultMaxOvershoot = 0.01

// An consistency is how closely a fleet keeps to a limit, as far as one place of a configuration says it.
type consistency struct {
	mode         string   // "": not said
	maxOvershoot *float64 // a fraction of the limit; nil: not said
}

// consistency returns what the defaults say of it.
func (d *Defaults) consistency() consistency { return consistency{d.Mode, d.MaxOvershoot} }

// validate returns an error that says what to write instead when e does not make sense.
func (e consistency) validate() error {
	if e.mode != "" {
		if err := checkMode(e.mode); err != nil {
			return err
		}
	}
	if p := e.maxOvershoot; p != nil && !(*p >= 0 && *p <= 1) { // nor NaN
		return fmt.Errorf("max_overshoot is %v: say a fraction from 0 to 1, such as 0.01 for 1%%", *p)
	}
	return nil
}

func checkMode(mode string) error {
	if mode != modeStrict && mode != modeLease {
		return fmt.Errorf("%q is not a mode: say strict, so that Redis decides every request, or lease", mode)
	}
	return nil
}

// over returns e with what it does not say taken from under.
func (e consistency) over(under consistency) consistency {
	if e.mode == "" {
		e.mode = under.mode
	}
	if e.maxOvershoot == nil {
		e.maxOvershoot = under.maxOvershoot
	}
	return e
}

// overshoot returns the largest fraction of a limit of z by which a fleet may exceed it.
func (z *zone) overshoot() (most float64) {
	for _, p := range z.endpoints {
		for _, r := range p.rules {
			if r != nil && r.Rule != nil && !r.Strict {
				most = max(most, r.MaxOvershoot)
			}
		}
	}
	return most
}

// publishOvershoot has metrics say the bounds of the app's zones.
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

// strict reports whether the store decides every request.
func (e consistency) strict() bool { return e.mode == modeStrict }

// overshoot returns by what fraction of the limit the fleet may exceed it.
func (e consistency) overshoot() float64 {
	if e.maxOvershoot == nil {
		return defaultMaxOvershoot
	}
	return *e.maxOvershoot
}
