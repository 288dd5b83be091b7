package usage

import "sync/atomic"

// Comparisons count comparisons by what the rule in force and the compared one decide.
type Comparisons struct {
	Used atomic.Bool // the zone compares, or did once

	BothAdmit, BothReject, InForceAdmits, ComparedAdmits atomic.Uint64
}

// Add counts a comparison by who admits.
func (c *Comparisons) Add(inForceAdmits, comparedAdmits bool) {
	n := &c.BothReject
	switch {
	case inForceAdmits && comparedAdmits:
		n = &c.BothAdmit
	case inForceAdmits:
		n = &c.InForceAdmits
	case comparedAdmits:
		n = &c.ComparedAdmits
	}
	n.Add(1)
}
