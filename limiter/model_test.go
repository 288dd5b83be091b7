package limiter

import (
	"math/big"
	"sort"
)

// A model is a count kept the naive way: a list of what was taken, gone through for every question, and fractions of
// arbitrary precision. It shares no arithmetic with the counts; the histories in history_test.go play it against them.
type model struct {
	kind  modelKind
	rule  *Rule
	at    Instant
	taken []taking // those that can still matter
}

// A taking is a number of events taken, or carried, at an instant.
type taking struct {
	at Instant
	n  int64
}

// A modelKind is what is particular to an algorithm.
type modelKind interface {
	// used returns how many of the limit's events are used at t, whole or not, under the rule r.
	used(r *Rule, taken []taking, t Instant) *big.Rat

	// moved returns what was taken when the clock was set back, or the rule changed: from (r, at) to (next, to).
	moved(r *Rule, taken []taking, at Instant, next *Rule, to Instant) []taking

	// refunded takes cost events that were taken at the instant taken from the list, as of at.
	refunded(r *Rule, taken []taking, at, when Instant, cost int64) []taking
}

func newModel(a Algorithm) *model {
	kinds := map[Kind]modelKind{
		TokenBucket: bucketModel{}, SlidingWindowLog: logModel{}, SlidingWindow: slidingModel{}, FixedWindow: fixedModel{},
	}
	return &model{kind: kinds[a.Kind]}
}

// settle brings m to now under r.
func (m *model) settle(r *Rule, now Instant) {
	if m.rule == nil {
		m.rule = r
	}
	switch {
	case now >= m.at:
		if m.rule == r {
			m.at = now
			break
		}
		m.taken = m.kind.moved(m.rule, m.taken, m.at, r, now)
		m.rule, m.at = r, now
	case m.at-now <= 1_000_000:
		if m.rule != r {
			m.taken = m.kind.moved(m.rule, m.taken, m.at, r, m.at)
			m.rule = r
		}
	default:
		m.taken = m.kind.moved(m.rule, m.taken, m.at, m.rule, now)
		m.at = now
		m.settle(r, now)
	}
}

// usedAt returns how many events are used at t if nothing else is taken, rounded up.
func (m *model) usedAt(t Instant) int64 { return ceil(m.kind.used(m.rule, m.taken, t)) }

// first returns the first instant from now on at which at most n events are used. What is used must not rise.
func (m *model) first(n int64) Instant {
	if m.usedAt(m.at) <= n {
		return m.at
	}
	step := int64(1)
	for m.usedAt(m.at.plus(step)) > n {
		if m.at.plus(step) == Never {
			return Never
		}
		step = min(step*2, int64(Never)/2+1)
		if step > int64(Never)/2 && m.usedAt(Never) > n {
			return Never
		}
	}
	return m.at + Instant(sort.Search(int(step), func(us int) bool { return m.usedAt(m.at+Instant(us)) <= n }))
}

// take answers as Count.Take, or as Count.Peek when it is not meant.
func (m *model) take(r *Rule, now Instant, cost int64, meant bool) Decision {
	m.settle(r, now)
	capacity := r.Limit.Events
	if r.Algorithm.Kind == TokenBucket && r.Limit.Burst != 0 {
		capacity = r.Limit.Burst
	}
	d := Decision{Limit: capacity, RetryAt: Never, OK: cost <= capacity && m.usedAt(m.at) <= capacity-cost}
	if cost <= capacity {
		d.RetryAt = m.first(capacity - cost)
	}
	if d.OK && meant {
		m.taken = append(m.taken, taking{m.at, cost})
	}
	d.Remaining = max(0, capacity-m.usedAt(m.at))
	d.ResetAt = m.first(0)
	return d
}

func (m *model) refund(r *Rule, now, taken Instant, cost int64) {
	m.settle(r, now)
	m.taken = m.kind.refunded(r, m.taken, m.at, taken, cost)
}

func ceil(x *big.Rat) int64 {
	q, rem := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

// A bucketModel goes through all that was taken: the level falls at the rate of the limit, and never below nothing.
type bucketModel struct{}

func (bucketModel) used(r *Rule, taken []taking, t Instant) *big.Rat {
	level, at := new(big.Rat), Instant(0)
	for _, e := range append(taken[:len(taken):len(taken)], taking{at: t}) {
		level.Sub(level, big.NewRat(1, 1).SetFrac(
			new(big.Int).Mul(big.NewInt(int64(e.at-at)), big.NewInt(r.Limit.Events)), big.NewInt(r.Limit.Window.Microseconds())))
		if level.Sign() < 0 {
			level.SetInt64(0)
		}
		level.Add(level, new(big.Rat).SetInt64(e.n))
		at = e.at
	}
	return level
}
