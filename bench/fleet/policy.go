package main

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// zone is where all accounts of this program are.
const zone = "bench"

// maxKeys is more than any measurement has.
const maxKeys = 4_000_000

// A policy is how a limit is enforced.
type policy struct {
	kind      limiter.Kind
	strict    bool
	overshoot float64 // max_overshoot, as a fraction of the limit
}

// strict is what leases are compared with: the store decides every take.
var strict = policy{strict: true}

// leasing returns the policy of an algorithm with the max_overshoot that is the default.
func leasing(kind limiter.Kind) policy { return policy{kind: kind, overshoot: 0.01} }

func (p policy) String() string {
	if p.strict {
		return p.kind.String() + ", strict"
	}
	return fmt.Sprintf("%v, %g %%", p.kind, 100*p.overshoot)
}

// bound returns by what fraction of the limit a fleet may exceed it.
func (p policy) bound() float64 {
	if p.strict {
		return 0
	}
	return p.overshoot
}

// rule returns the rule that enforces a limit so.
func (p policy) rule(id uint32, l limiter.Limit) (*limiter.Rule, error) {
	return limiter.NewRule(limiter.Rule{
		ID: id, Zone: zone, MaxKeys: maxKeys, Limit: l,
		Algorithm: limiter.Algorithm{Kind: p.kind}, Strict: p.strict, MaxOvershoot: p.overshoot,
	})
}
