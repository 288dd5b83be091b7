package usage

import "sync/atomic"

// Comparisons count the decisions that a zone has compared, by what the rule in force and the
// compared rule decided.
type Comparisons struct {
	Used atomic.Bool // the zone compares, or has compared

	BothAdmit, BothReject, InForceAdmits, ComparedAdmits atomic.Uint64
}

// Add counts one comparison.
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
