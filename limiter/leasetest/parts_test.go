package leasetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestPartsKeepTheBound plays hostile histories on a bucket: nodes want all of it, keep parts to
// their ends, spend them in bursts, return them at any time, and lose requests and replies. Their
// clocks are wrong by up to 400 ppm. Some limits are raised, by an event or by far. In no span
// is more admitted than the capacity and what the rate gives.
func TestPartsKeepTheBound(t *testing.T) {
	for seed := range uint64(partsRuns) {
		h := randomPartsHistory(seed)
		if err := h.play(nil); err != nil {
			h.shrink(nil)
			t.Fatalf("seed %d: %v\n%v", seed, h.play(nil), h)
		}
	}
}

const partsRuns = 3000

// A partsHistory is what nodes do with the parts of one bucket.
type partsHistory struct {
	limit limiter.Limit
	nodes []float64 // how fast the clock of each node is
	steps []partsStep
}

// A partsStep is what one node does.
type partsStep struct {
	after limiter.Instant // the step before
	node  int
	do    partsAction
	n     int64           // events: to spend, to need, to keep
	share int64           // wanted
	delay limiter.Instant // of the request, and of the reply
	lost  bool            // the reply
}

type partsAction uint8

const (
	spend partsAction = iota // up to n events, as far as there are any
	renew                    // return the part, keep n events, want another one
	need                     // n events from the store, and a part
	reset                    // the count
	raise                    // the limit, by n events
)

func (h *partsHistory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%v burst %d, clocks %v\n", h.limit.Events, h.limit.Window, h.limit.Burst, h.nodes)
	for _, s := range h.steps {
		fmt.Fprintf(&b, "%+v\n", s)
	}
	return b.String()
}

func randomPartsHistory(seed uint64) *partsHistory {
	h := steadyPartsHistory(seed)
	if rng := rand.New(rand.NewPCG(seed, 5)); seed%3 == 0 { // the limit is raised at any time
		h.steps = slices.Insert(h.steps, rng.IntN(len(h.steps)), partsStep{
			do: raise, n: oneOf(rng, 1, h.limit.Events, 9*h.limit.Events),
		})
	}
	return h
}

// steadyPartsHistory returns one of which the limit stays the same.
func steadyPartsHistory(seed uint64) *partsHistory {
	rng := rand.New(rand.NewPCG(seed, 3))
	h := &partsHistory{limit: limiter.Limit{
		Events: oneOf[int64](rng, 3, 60, 100, 1000, 1_000_003), Window: oneOf(rng, time.Second, 7*time.Second, time.Minute, time.Hour),
		Burst: oneOf[int64](rng, 32, 33, 100, 1000, 40_000),
	}}
	for range 1 + rng.IntN(5) {
		h.nodes = append(h.nodes, 1+oneOf(rng, -4e-4, 0, 4e-4))
	}
	if rng.IntN(2) == 0 {
		h.drains(rng)
		return h
	}
	for range 20 + rng.IntN(80) {
		s := partsStep{
			after: randomInstant(rng, oneOf[limiter.Instant](rng, 10*ms, sec, 10*sec)), node: rng.IntN(len(h.nodes)),
			do: partsAction(rng.IntN(int(reset))), n: 1 + rng.Int64N(oneOf(rng, 3, h.limit.Burst)),
			share: oneOf[int64](rng, 0, 1, 100, 2000, limiter.Shares), delay: randomInstant(rng, oneOf[limiter.Instant](rng, ms, 100*ms)),
			lost: rng.IntN(20) == 0,
		}
		if rng.IntN(50) == 0 {
			s.do = reset
		}
		h.steps = append(h.steps, s)
	}
	return h
}

// drains adds steps that spend all there is, again and again: the bucket is full, nodes get parts of
// it, and when these have accrued for a while, the nodes spend them and what is left of the bucket.
func (h *partsHistory) drains(rng *rand.Rand) {
	r := mustRule(limiter.Rule{Limit: h.limit})
	for range 1 + rng.IntN(4) {
		h.steps = append(h.steps, partsStep{after: limiter.Instant(rng.Int64N(2 * r.FillTime().Microseconds())), do: spend})
		for range 1 + rng.IntN(2*len(h.nodes)) {
			h.steps = append(h.steps, partsStep{
				after: randomInstant(rng, ms), node: rng.IntN(len(h.nodes)), do: oneOf(rng, renew, need), n: 1 + rng.Int64N(3),
				share: limiter.Shares, delay: oneOf[limiter.Instant](rng, 0, 0, 100*ms),
			})
		}
		wait := limiter.Instant(rng.Int64N(1 + 3*r.LeaseSlot()))
		for range oneOf(rng, 1, 1, 2) {
			for n := range h.nodes {
				h.steps = append(h.steps, partsStep{after: wait, node: n, do: spend, n: h.limit.Burst})
				wait = 0
			}
			h.steps = append(h.steps, partsStep{node: rng.IntN(len(h.nodes)), do: need, n: h.limit.Burst, share: limiter.Shares})
			wait = oneOf(rng, 0, limiter.Instant(rng.Int64N(1+r.LeaseSlot())))
		}
	}
}

// shrink removes steps without which the history still fails.
func (h *partsHistory) shrink(f *partsFault) {
	for size := len(h.steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(h.steps); {
			less := *h
			less.steps = slices.Delete(slices.Clone(h.steps), i, i+size)
			if i < len(less.steps) {
				less.steps[i].after += h.steps[i].after
			}
			if less.play(f) != nil {
				*h = less
			} else {
				i += size
			}
		}
	}
}

// A partsFault is a bug that is planted to be found.
type partsFault struct {
	name    string
	ledger  func(b *lendingBucket, e *limiter.Return) // before a return
	granted func(l *limiter.LeaseRequest, b *lendingBucket)
	part    func(p *nodePart, sent limiter.Instant) // when it arrives
	spends  func(s *limiter.Spends)                 // before a return
	lent    func(b *lendingBucket)                  // after any reply

	trusting bool // the store is to know what a part has accrued under another limit
}

// A nodePart is a part at a node. It accrues by the rule under which it was granted.
type nodePart struct {
	rule                 *limiter.Rule
	at                   limiter.Instant // of the grant
	events, share, spent int64
	arrived, ends        limiter.Instant
	clock                float64
	accruesOn            bool           // a fault
	spends               limiter.Spends // by the store's clock
}

// spend spends events at now.
func (p *nodePart) spend(now limiter.Instant, n int64) {
	p.spent += n
	length := p.rule.OverflowWindow()
	if p.share > 0 || length == 0 {
		return
	}
	moved := limiter.Spends{Newest: int64(now) / length}
	for i, e := range p.spends.Events {
		at := min(int64(i)+moved.Newest-p.spends.Newest, limiter.OverflowWindows-1)
		moved.Events[at] += e
	}
	moved.Events[0] += uint16(n)
	p.spends = moved
}

// left returns what the node may spend at now.
func (p *nodePart) left(now limiter.Instant) int64 {
	if now >= p.ends && !p.accruesOn {
		return 0
	}
	us := int64(float64(now-p.arrived) * p.clock)
	return p.events - p.spent + p.rule.PartAccrues(p.share, us)
}

// An admitted is what was admitted at an instant.
type admissions []limiter.Events

// check returns an error if a span holds more than the limit.
func (a admissions) check(r *limiter.Rule) error {
	slices.SortStableFunc(a, func(x, y limiter.Events) int { return int(x.At - y.At) })
	refill, per := r.Rate()
	var used, numerator int64 // of a bucket that never denies
	var last limiter.Instant
	for _, e := range a {
		gone, rest := mulAddDiv(int64(e.At-last), refill, 0, per)
		used, numerator = used-gone, numerator-rest
		if numerator < 0 {
			used, numerator = used-1, numerator+per
		}
		if used < 0 {
			used, numerator = 0, 0
		}
		last = e.At
		if used += e.N; used > r.Capacity() || used == r.Capacity() && numerator > 0 {
			return fmt.Errorf("%d + %d/%d events at %d, want at most %d", used, numerator, per, last-epoch, r.Capacity())
		}
	}
	return nil
}

// play returns an error if more is admitted than the limit.
func (h *partsHistory) play(f *partsFault) error {
	r := mustRule(limiter.Rule{Limit: h.limit})
	g := NewLedger(bucket)
	kept, parts := make([]nodePart, len(h.nodes)), make([]nodePart, len(h.nodes))
	busy := make([]limiter.Instant, len(h.nodes))
	now := epoch
	var all admissions
	for _, s := range h.steps {
		now += s.after
		n := s.node
		for _, p := range []*nodePart{&kept[n], &parts[n]} {
			if s.do == spend {
				if left := min(s.n, p.left(now)); left > 0 {
					p.spend(now, left)
					s.n -= left
					all = append(all, limiter.Events{At: now, N: left})
				}
			}
		}
		switch {
		case s.do == spend:
			continue
		case s.do == raise:
			higher := h.limit
			higher.Events += s.n
			r = mustRule(limiter.Rule{Limit: higher})
			continue
		case s.do == reset:
			all = nil // what is admitted from here on is within the limit, parts included
			g.Reset(r, now)
			continue
		case now < busy[n]:
			continue // one request at a time
		}
		l := limiter.LeaseRequest{Rule: r, Incarnation: 1, Want: h.limit.Burst, Share: s.share}
		if p := &parts[n]; p.share > 0 || p.events > 0 {
			keep := int64(0)
			if s.do == renew && p.rule == r {
				keep = max(0, min(s.n, p.left(now)))
			}
			l.Returns[1] = limiter.Return{Events: limiter.Events{At: p.at, N: p.events - keep}, Spent: p.spent, Share: p.share}
			l.Returns[0] = limiter.Return{Events: limiter.Events{At: kept[n].at, N: kept[n].events}, Spent: kept[n].spent}
			l.Spends = p.spends
			if p.rule != r { // the store does not know what it has accrued
				l.Spends = limiter.Spends{}
			}
			if p.rule != r && (f == nil || !f.trusting) {
				l.Returns[1].Spent = limiter.MaxEvents
				if left := p.events - p.spent; left > 0 && kept[n].events == 0 {
					l.Returns[0].Events = limiter.Events{At: p.at, N: left}
					l.Returns[1].N -= left
				}
			}
			if f != nil && f.spends != nil {
				f.spends(&l.Spends)
			}
			kept[n], *p = *p, nodePart{}
			kept[n].events, kept[n].spent, kept[n].share, kept[n].spends = keep, 0, 0, limiter.Spends{}
		}
		if s.do == need {
			l.Need, l.More = 1, s.n-1
		}
		if f != nil && f.ledger != nil {
			f.ledger(g.count.(*lendingBucket), &l.Returns[1])
		}
		sent, at := now, now+s.delay
		// The store's instants must not go back: what the others do until then comes after.
		now = at
		l = lendOne(g, 1, at, l)
		if l.Served > 0 {
			all = append(all, limiter.Events{At: at, N: l.Served})
		}
		if f != nil && f.lent != nil {
			f.lent(g.count.(*lendingBucket))
		}
		if f != nil && f.granted != nil {
			f.granted(&l, g.count.(*lendingBucket))
		}
		if s.lost {
			continue
		}
		arrived := at + s.delay
		busy[n] = arrived
		if l.Granted+l.GrantedShare > 0 {
			parts[n] = nodePart{
				rule: r, at: l.Decision.At, events: l.Granted, share: l.GrantedShare, arrived: arrived, clock: h.nodes[n],
				ends: sent + limiter.Instant(float64(limiter.ByStoreClock(int64(l.Expires-l.Decision.At)))/h.nodes[n]),
			}
			if f != nil && f.part != nil {
				f.part(&parts[n], sent)
			}
		}
	}
	return all.check(r)
}

// partsFaults break one clause of the rule each.
var partsFaults = []partsFault{
	{name: "the refill is not reduced", granted: func(l *limiter.LeaseRequest, b *lendingBucket) {
		b.current.shares -= l.GrantedShare
		b.current.accrues -= l.GrantedShare * int64(b.lentUntil()-b.at)
	}},
	{name: "what was kept is returned too", ledger: func(b *lendingBucket, e *limiter.Return) { e.Spent = max(0, e.Spent-1) }},
	{name: "a part accrues from the sending instant", part: func(p *nodePart, sent limiter.Instant) { p.arrived = sent }},
	{name: "a part accrues after its end", part: func(p *nodePart, _ limiter.Instant) { p.accruesOn = true }},
	{name: "a part accrues by a clock that is too fast", part: func(p *nodePart, _ limiter.Instant) { p.clock += 1e-3 }},
	{name: "events at once are not held", granted: func(l *limiter.LeaseRequest, b *lendingBucket) { b.current.events -= l.Granted }},
	{name: "what accrues is not held", granted: func(l *limiter.LeaseRequest, b *lendingBucket) {
		b.current.accrues -= l.GrantedShare * int64(b.lentUntil()-b.at)
	}},
	{name: "a part of a lower limit is returned as one of the raised limit", trusting: true},
	{name: "overflow pays for the events of its own window", spends: func(s *limiter.Spends) { s.Newest-- }},
	{name: "overflow pays for later events", spends: func(s *limiter.Spends) { s.Newest -= limiter.OverflowWindows }},
	{name: "overflow pays twice", lent: func(b *lendingBucket) {
		for i := range b.overflow.units {
			b.overflow.units[i] *= 2
		}
	}},
	{name: "what has ended is free", lent: func(b *lendingBucket) { b.missing = max(0, b.missing-b.previous.events) }},
	{name: "the events at once are not debited", granted: func(l *limiter.LeaseRequest, b *lendingBucket) {
		b.missing = max(0, b.missing-l.Granted)
	}},
}

// TestPartsFaultsAreFound plants faults, and wants the bound to find each.
func TestPartsFaultsAreFound(t *testing.T) {
	for _, f := range partsFaults {
		t.Run(f.name, func(t *testing.T) {
			for seed := range uint64(partsRuns) {
				if h := randomPartsHistory(seed); h.play(&f) != nil {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Errorf("not found in %d histories", partsRuns)
		})
	}
}
