package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	maxKeys   = 4_000_000   // more keys than any measurement has
	unlimited = 100_000_000 // events per window, more than any trial takes
)

// A policy says how a limit is enforced.
type policy struct {
	kind   limiter.Kind
	strict bool
}

// strict is the policy with which leases are compared: the store decides every take.
var strict = policy{strict: true}

// leasing returns the policy of an algorithm with leases.
func leasing(kind limiter.Kind) policy { return policy{kind: kind} }

// leases are the policies with leases of all algorithms.
var leases = []policy{
	leasing(limiter.TokenBucket), leasing(limiter.SlidingWindowLog), leasing(limiter.SlidingWindow), leasing(limiter.FixedWindow),
}

// everyPolicy are the policies of the trials that measure exactness.
var everyPolicy = append(slices.Clone(leases), strict)

func (p policy) String() string {
	if p.strict {
		return p.kind.String() + ", strict"
	}
	return p.kind.String()
}

// rule returns a rule that enforces the limit l.
func (p policy) rule(id uint32, l limiter.Limit) (*limiter.Rule, error) {
	return limiter.NewRule(limiter.Rule{
		ID: id, MaxKeys: maxKeys, Limit: l,
		Algorithm: limiter.Algorithm{Kind: p.kind}, Strict: p.strict,
	})
}

// A trial is a series of takes of some keys, under one rule.
type trial struct {
	policy policy
	shape  shape
	rate   float64 // takes per second, over all keys and nodes
	window time.Duration

	// load is the number of takes of the busiest key in the run, as a fraction of what the limit allows
	// that key. If it is 0, the limit is out of reach.
	load float64

	// limit is the limit, in events per window. If it is 0, the limit depends on load.
	limit int64

	rule *limiter.Rule // set by prepare
	keys [][]byte
}

// events returns the limit of t for a run of this length, in events per window.
//
// A window algorithm allows the limit in each window of the run, or once if the run is shorter than a
// window. A bucket allows its burst and the refill: in a run of one window, twice the limit.
func (t *trial) events(length time.Duration) int64 {
	switch {
	case t.limit > 0:
		return t.limit
	case t.load == 0:
		return unlimited
	}
	wanted := t.rate * length.Seconds() * newZipf(t.shape.exponent, t.shape.keys).first()
	windows := float64(length) / float64(t.window)
	if t.policy.kind == limiter.TokenBucket {
		windows++
	}
	return max(1, int64(wanted/t.load/max(1, windows)+0.5))
}

// prepare makes the rule and the keys of the trial, for a run of this length. number is the index of
// the trial. window is t.window, which windowAt adjusts unless t.limit is given.
func (t *trial) prepare(number int, window, length time.Duration) (err error) {
	t.rule, err = t.policy.rule(ruleOf(number), limiter.Limit{Events: t.events(length), Window: window})
	t.keys = make([][]byte, t.shape.keys)
	for k := range t.keys {
		t.keys[k] = fmt.Appendf(nil, "sk_%d_%08d", number, k)
	}
	return err
}

// ruleOf returns the rule ID of the trial with this index.
func ruleOf(number int) uint32 { return uint32(number) + 1 }

// headStart is the longest time, in µs, by which windows may begin before the start of a run.
const headStart = 5_000

// windowAt returns the length nearest to nominal for which a window begins at start, or at most
// headStart before.
//
// Windows follow each other from the Unix epoch on, so a run with windows of nominal length might have
// to wait up to an hour for the next window. But some 500,000 hours have passed since 1970, so a window
// that is a few milliseconds longer begins at quite another instant. The length differs from nominal by
// less than 1 %.
func windowAt(start limiter.Instant, nominal time.Duration) time.Duration {
	length := nominal.Microseconds()
	for off := int64(0); ; off++ {
		for _, l := range []int64{length + off, length - off} {
			if int64(start)%l <= headStart {
				return time.Duration(l) * time.Microsecond
			}
		}
	}
}
