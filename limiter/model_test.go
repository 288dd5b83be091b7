package limiter

import (
	"math/big"
	"slices"
	"sort"
)

// A reference is a naive count, with fractions of arbitrary precision and a list of all takes that
// it searches for every decision. It shares no arithmetic with the counts. history_test.go compares
// references with counts.
type reference struct {
	model
	at Instant
}

// A model is what differs between algorithms.
type model interface {
	// advance moves from the instant at to the instant to. From now on the rule is r. It reports
	// whether what is used moves into other windows.
	advance(r *Rule, at, to Instant) (moved bool)
	clone() model

	// used returns how many events are in use at t if nothing else is taken, rounded up.
	used(t Instant) int64

	add(at Instant, cost int64)
	refund(at Instant, seen Events, cost int64)
}

func newReference(a Algorithm) *reference {
	switch a.Kind {
	case SlidingWindowLog:
		return &reference{model: new(logModel)}
	case SlidingWindow, FixedWindow:
		return &reference{model: new(windowModel)}
	}
	return &reference{model: &bucketModel{level: new(big.Rat)}}
}

func (m *reference) advance(r *Rule, now Instant) (moved bool) {
	if m.at-now > 0 && m.at-now <= 1_000_000 {
		now = m.at
	}
	moved = m.model.advance(r, m.at, now) || now < m.at
	m.at = now
	return moved
}

// first returns the first instant, from m.at on, at which at most n events are used. It finds it by
// trying instants.
func (m *reference) first(n int64) Instant {
	if m.used(m.at) <= n {
		return m.at
	}
	step, end := int64(1), int64(Never-m.at)
	for m.used(m.at+Instant(step)) > n {
		if step == end {
			return Never
		}
		step += min(step, end-step)
	}
	return m.at + Instant(sort.Search(int(step), func(us int) bool { return m.used(m.at+Instant(us)) <= n }))
}

// take decides as Count.Take does. A denial changes nothing, unless what is used has moved into
// other windows.
func (m *reference) take(r *Rule, now Instant, cost int64) Decision {
	before := reference{m.model.clone(), m.at}
	moved := m.advance(r, now)
	d := Decision{At: m.at, Limit: r.Limit.Events, RetryAt: Never}
	if r.Algorithm.Kind == TokenBucket && r.Limit.Burst != 0 {
		d.Limit = r.Limit.Burst
	}
	if cost <= d.Limit {
		d.RetryAt = m.first(d.Limit - cost)
		d.OK = d.RetryAt == m.at
	}
	if d.OK {
		m.add(m.at, cost)
	}
	d.Remaining = max(0, d.Limit-m.used(m.at))
	d.ResetAt = m.first(0)
	if !d.OK && !moved {
		*m = before
	}
	return d
}

func (m *reference) refundTake(r *Rule, now Instant, seen Events, cost int64) {
	m.advance(r, now)
	m.refund(m.at, seen, cost)
}

// A bucketModel is a rational level, the events that the bucket lacks, which falls at the rate of
// the limit. What is above twice the capacity is set aside while the capacity stays the same, and
// falls when the level is 0. While the level is above the capacity, refunds come out of what is set
// aside first.
type bucketModel struct {
	rate  *big.Rat // events per µs
	level *big.Rat
	at    Instant // instant of level

	aside, under int64 // what is set aside, and the lower bits of the capacity under which it is
	capacity     int64

	scarce int64 // the unit of 8192 µs since which the level is above a sixteenth of the capacity; 0 if unknown
}

// levelAt returns the level at t.
func (m *bucketModel) levelAt(t Instant) *big.Rat {
	fallen := new(big.Rat).SetInt64(int64(t - m.at))
	level := fallen.Sub(m.level, fallen.Mul(fallen, m.rate))
	if level.Sign() < 0 {
		level.SetInt64(0)
	}
	return level
}

func (m *bucketModel) clone() model {
	c := *m
	c.level = new(big.Rat).Set(m.level)
	return &c
}

func (m *bucketModel) advance(r *Rule, _, to Instant) (moved bool) {
	if m.scarce != 0 { // it is noted for 65534 units at most
		next := int64(m.at)>>13 + 1
		m.scarce = max(next-65534, min(next, m.scarce))
	}
	rate := big.NewRat(r.Limit.Events, r.Limit.Window.Microseconds())
	if m.rate != nil && m.rate.Cmp(rate) != 0 {
		m.round(rate.Denom())
	}
	m.rate = rate
	// The bucket tells limits apart by the lower bits of their capacity.
	if m.under != r.capacity&(1<<capacityBits-1) {
		m.level.Add(m.level, new(big.Rat).SetInt64(m.aside))
		m.aside, m.under = 0, r.capacity&(1<<capacityBits-1)
	}
	m.capacity = r.capacity
	if over := ceil(m.level).Int64() - 2*r.capacity; over > 0 {
		m.level.Sub(m.level, new(big.Rat).SetInt64(over))
		m.aside += over
	}
	if to > m.at {
		fallen := new(big.Rat).SetInt64(int64(to - m.at))
		below := ceil(fallen.Sub(m.level, fallen.Mul(fallen, m.rate)))
		if m.aside > 0 && below.Sign() < 0 {
			if left := below.Add(below, big.NewInt(m.aside)); left.Sign() > 0 {
				m.aside = left.Int64()
			} else {
				m.aside = 0
			}
		}
		m.level = m.levelAt(to)
	}
	m.at = to
	m.noteScarcity()
	return false
}

// noteScarcity notes whether the level is above a sixteenth of the capacity.
func (m *bucketModel) noteScarcity() {
	switch {
	case m.scarce == 0:
	case m.level.Sign() == 0:
		m.scarce = 0
	case ceil(m.level).Int64() <= m.capacity/16:
		m.scarce = int64(m.at)>>13 + 1
	}
}

// round rounds the fraction of an event that has accrued to 1/parts of an event, as tokenBucket
// does when the rate changes: see fraction.go. It keeps the fraction in units of 2^-44 of an event,
// or smaller ones for long periods, and then reads the units as parts.
func (m *bucketModel) round(parts *big.Int) {
	units := new(big.Int).Lsh(big.NewInt(1), 44)
	if parts.Cmp(units) > 0 {
		units.Lsh(units, 18)
	}
	whole := new(big.Rat).SetInt(ceil(m.level))
	accrued := new(big.Rat).Sub(whole, m.level)
	kept := new(big.Int).Mul(accrued.Num(), units)
	kept.Div(kept, accrued.Denom())
	most := new(big.Rat).SetFrac(kept.Add(kept, big.NewInt(1)).Mul(kept, parts), units)
	numerator := ceil(most)
	numerator.Sub(numerator, big.NewInt(1)) // the largest numerator below most
	m.level.Sub(whole, new(big.Rat).SetFrac(numerator, parts))
}

func (m *bucketModel) used(t Instant) int64 { return ceil(m.levelAt(t)).Int64() }

func (m *bucketModel) add(_ Instant, cost int64) { m.level.Add(m.level, new(big.Rat).SetInt64(cost)) }

// refund takes off the part of cost that would still be in use if nothing had been added since the
// take. seen is the level right after the take, rounded up. Only whole events were added since,
// unless the level has been 0, so the fraction of the level then follows from the fraction now. If
// the level is known to have been above a sixteenth of the capacity ever since, at least that much
// of cost comes off.
func (m *bucketModel) refund(at Instant, seen Events, cost int64) {
	if seen.At > at {
		return
	}
	then := bucketModel{rate: m.rate, level: new(big.Rat).SetInt64(max(cost, seen.N)), at: seen.At}
	if seen.N > cost { // otherwise the level was 0 before the take
		before := (&bucketModel{rate: m.rate, level: m.level, at: at}).levelAt(seen.At)
		then.level.Sub(then.level, before.Sub(new(big.Rat).SetInt(ceil(before)), before))
	}
	returned := then.levelAt(at)
	if most := new(big.Rat).SetInt64(cost); returned.Cmp(most) > 0 {
		returned = most
	}
	before, whole := ceil(m.level).Int64(), min(cost, m.capacity/16)
	without := ceil(new(big.Rat).Sub(m.level, returned)).Int64()
	if m.scarce != 0 && int64(seen.At) >= m.scarce<<13 && before-max(0, without) < whole {
		returned = new(big.Rat).SetInt64(whole)
	}
	m.level.Sub(m.level, returned)
	if before > m.capacity {
		back := min(before-ceil(m.level).Int64(), m.aside)
		m.level.Add(m.level, new(big.Rat).SetInt64(back))
		m.aside -= back
	}
	m.level = m.levelAt(m.at) // not below 0
	if m.scarce == 0 {
		m.scarce = int64(m.at)>>13 + 1
	}
	m.noteScarcity()
}

func ceil(x *big.Rat) *big.Int {
	// Floor division of -num, negated: big.Int.Div rounds down for a positive divisor.
	q := new(big.Int).Neg(x.Num())
	return q.Neg(q.Div(q, x.Denom()))
}

// A taking is n events that were taken at one instant.
type taking struct {
	at Instant
	n  int64
}

// A logModel is a list of takes.
type logModel struct {
	window int64
	taken  []taking
}

func (m *logModel) clone() model { return &logModel{m.window, slices.Clone(m.taken)} }

func (m *logModel) advance(r *Rule, at, to Instant) (moved bool) {
	m.window = r.Limit.Window.Microseconds()
	for i := range m.taken {
		if to < at {
			m.taken[i].at += to - at
		}
	}
	m.taken = slices.DeleteFunc(m.taken, func(e taking) bool { return int64(to-e.at) >= m.window || e.n == 0 })
	return false
}

func (m *logModel) used(t Instant) (n int64) {
	for _, e := range m.taken {
		if int64(t-e.at) < m.window {
			n += e.n
		}
	}
	return n
}

func (m *logModel) add(at Instant, cost int64) { m.taken = append(m.taken, taking{at, cost}) }

func (m *logModel) refund(at Instant, seen Events, cost int64) {
	if int64(at-seen.At) >= m.window {
		return
	}
	for i, e := range m.taken {
		if late := e.at - seen.At; late >= 0 && late <= 1_000_000 {
			m.taken[i].n -= min(e.n, cost)
			cost -= min(e.n, cost)
		}
	}
}

// A windowModel counts by parts of a window. A fixed window is one part. In a sliding window of n
// parts, the newest n parts count in full, and the part before them counts as far as it is still in
// the window.
type windowModel struct {
	n, part int64 // n = 0 for a fixed window
	taken   []taking
}

func (m *windowModel) clone() model { return &windowModel{m.n, m.part, slices.Clone(m.taken)} }

func (m *windowModel) advance(r *Rule, at, to Instant) (moved bool) {
	n, window := int64(0), r.Limit.Window.Microseconds()
	part := window
	if r.Algorithm.Kind == SlidingWindow {
		n = int64(r.Algorithm.SubWindows)
		part = (window + n - 1) / n
	}
	others := n != m.n || part != m.part
	moved = others && m.part != 0
	if moved && n == 0 && to >= at { // nothing was used, or the window ends as before
		moved = m.used(to) > 0 && (int64(at)/m.part+1)*m.part != (int64(to)/part+1)*part
	}
	if (others || to < at) && m.taken != nil {
		carried := m.used(max(at, to))
		m.taken = []taking{{to, carried}}
	}
	m.n, m.part = n, part
	m.taken = slices.DeleteFunc(m.taken, func(e taking) bool { return m.age(e.at, to) > n || e.n == 0 })
	return moved
}

// age returns how many parts lie between at and t.
func (m *windowModel) age(at, t Instant) int64 { return int64(t)/m.part - int64(at)/m.part }

func (m *windowModel) used(t Instant) int64 {
	full, oldest := int64(0), int64(0)
	for _, e := range m.taken {
		switch age := m.age(e.at, t); {
		case m.n == 0 && age == 0, m.n > 0 && age < m.n:
			full += e.n
		case m.n > 0 && age == m.n:
			oldest += e.n
		}
	}
	left := big.NewRat(m.part-int64(t)%m.part, m.part)
	return full + ceil(left.Mul(left, new(big.Rat).SetInt64(oldest))).Int64()
}

func (m *windowModel) add(at Instant, cost int64) { m.taken = append(m.taken, taking{at, cost}) }

func (m *windowModel) refund(_ Instant, seen Events, cost int64) {
	for i, e := range m.taken {
		if m.age(e.at, seen.At) == 0 {
			m.taken[i].n -= min(e.n, cost)
			cost -= min(e.n, cost)
		}
	}
}
