package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
)

// A simNode is a node of a simulation, and the lender of its store.
type simNode struct {
	*simulation
	limiter.Operator // nil: there are no operators
	id               uint64
	offset           limiter.Instant // of its clock to the simulation's
	drift            int64           // of its clock, in ppm: see clockAt
	behind           atomic.Int64    // by how many µs the clock reads less while the store is made
	born             limiter.Instant // 0: long ago
	counts           atomic.Int64    // how many nodes it knows of
	store            *lease.Store

	// Guarded by simulation.mu.
	rule    *limiter.Rule         // of the limit in force, in its zone
	second  *limiter.Rule         // of the second limit, likewise; nil: there is none
	denies  *limiter.Rule         // of another limit, which denies all
	limits  map[*limiter.Rule]int // numbers the limits that there were
	gone    bool                  // it has crashed
	arrives limiter.Instant       // when its newest request arrives
	want    int64                 // what its next request wants, whatever the store says; 0: as that says
	keys    map[int]*heldKey
	sums    [2]nodeSums // by limit
}

var (
	errLost     = errors.New("the connection was lost")
	errNotAsked = fmt.Errorf("the store is in an outage: %w", limiter.ErrNotAsked)
)

// newNode returns a node that starts at born and counts alive nodes.
func (s *simulation) newNode(born limiter.Instant, alive int) *simNode {
	s.members++
	n := &simNode{simulation: s, id: s.members, born: born, keys: make(map[int]*heldKey)}
	n.limits = make(map[*limiter.Rule]int)
	if s.skew > 0 {
		n.offset = limiter.Instant(s.rng.Int64N(2*s.skew) - s.skew)
	}
	if s.drift > 0 {
		n.drift = oneOf(s.rng, -s.drift, s.drift)
	}
	n.counts.Store(int64(alive))
	if born == 0 {
		n.behind.Store(3 * s.limit.Limit.Window.Microseconds())
	}
	options := lease.Options{
		Clock: n.clock,
		Nodes: func() int { return int(n.counts.Load()) },
		After: n.afterLocking,
	}
	s.inOrder(&options)
	s.fault.changeOptions(n, &options)
	n.store = lease.New(n, options)
	n.behind.Store(0)
	n.useLimit()
	n.denies = mustRule(limiter.Rule{
		ID: 2, Zone: n.store.Open("denies"), Algorithm: fixed, Limit: limiter.Limit{Events: 1, Window: time.Hour},
		OnOutage: limiter.OutageClosed,
	})
	return n
}

// afterLocking calls do when d has passed.
func (n *simNode) afterLocking(d time.Duration, do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.afterUnlocked(d.Microseconds(), do)
}

func (n *simNode) clock() limiter.Instant {
	return n.clockAt(n.now()) - limiter.Instant(n.behind.Load())
}

// useLimit makes the limit in force that of the node.
func (n *simNode) useLimit() {
	limit := n.limit
	limit.Zone = n.store.Open("zone")
	n.rule = mustRule(limit)
	n.rule.OnOutage = n.onOutage
	n.limits[n.rule] = len(n.limits)
	if n.simulation.second != nil && n.second == nil {
		second := n.simulation.second.limit
		second.Zone = n.store.Open("second")
		n.second = mustRule(second)
		n.second.OnOutage = n.onOutage
		n.limits[n.second] = 0 // there is no other one of these keys
	}
}

func (n *simNode) String() string { return fmt.Sprint("node ", n.id) }

// keyOf returns the key of a request of a limit that is checked.
func keyOf(l *limiter.LeaseRequest) int {
	key, _ := strconv.Atoi(string(l.Key))
	if l.Rule.ID == secondID {
		key += secondKeys
	}
	return key
}

// take has a take of cost events arrive for the key. It does not wait for the decision.
func (n *simNode) take(key int, cost int64) {
	n.mu.Lock()
	n.checker.arrived(key, cost)
	undone := n.happens(n.net.regret)
	n.mu.Unlock()
	t := arrival{n, key, cost, undone}
	select {
	case n.idle <- t:
	default:
		go n.work(t)
	}
}

// An arrival is a take that has arrived at a node.
type arrival struct {
	node   *simNode
	key    int
	cost   int64
	undone bool // another limit denies its request
}

// work has takes decided, one after the other.
func (s *simulation) work(t arrival) {
	for ok := true; ok; t, ok = <-s.idle {
		t.node.decide(t.key, t.cost, t.undone)
	}
}

// decide waits for the decision on a take. If it is undone, another limit denies its request.
func (n *simNode) decide(key int, cost int64, undone bool) {
	n.mu.Lock()
	takes, keys := []limiter.Take{{Rule: n.rule, Key: n.textOf(key), Cost: cost}}, []int{key}
	if most := n.rule.MaxWait.Microseconds(); most > 0 && n.rng.IntN(4) > 0 {
		takes[0].Wait = 1 + n.rng.Int64N(most)
	}
	if n.second != nil {
		takes, keys = n.takeSecond(takes, keys)
	}
	if undone {
		fresh := strconv.AppendUint(nil, n.rng.Uint64(), 16)
		takes = append(takes, limiter.Take{Rule: n.denies, Key: fresh, Cost: 2})
	}
	if n.variety.needsOrigin() {
		for i := range keys {
			takes[i].Origin = new(limiter.Origin)
		}
	}
	faulty := n.fault.decides(n, key, &takes[0])
	n.mu.Unlock()
	arrived := n.now()
	if !faulty {
		_ = n.store.Take(context.Background(), n.clock(), takes) // each take has its error
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return
	}
	inVain := slices.ContainsFunc(takes, denies)
	for i, key := range keys {
		back := n.checker.decided(n, key, &takes[i], inVain || undone, arrived)
		if faulty || back == nil {
			continue
		}
		switch {
		case n.happens(n.refunds):
			n.refundLater(key, takes[i], back)
		case n.happens(n.charges):
			n.chargeLater(key, takes[i])
		}
	}
}

// denies reports whether a take denies its request.
func denies(k limiter.Take) bool {
	return !k.Decision.OK && (k.Err == nil || k.Decision.Source.WithoutStore())
}

// A call is a call of Lend that is not over.
type call struct {
	*simNode
	requests []limiter.LeaseRequest // the node's
	sent     limiter.Instant
	over     bool
	timeout  *time.Timer
	answered func(error)
}

// Lend implements [limiter.Lender]. It writes and sends copies of the requests to the store, and
// answers with an error when no answer has come after callTime.
func (n *simNode) Lend(requests []limiter.LeaseRequest, written func(), answered func(error)) {
	if written != nil {
		written()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &call{simNode: n, requests: requests, sent: n.now(), answered: answered}
	if n.gone {
		n.afterUnlocked(0, func() { answered(errLost) })
		return
	}
	if n.outage.Load() {
		n.afterUnlocked(0, func() { answered(errNotAsked) })
		return
	}
	sent := slices.Clone(requests)
	for i := range sent {
		l := &sent[i]
		if !checks(l.Rule) {
			continue
		}
		n.key(keyOf(l)).begun(c)
		n.checker.sent(n, l)
		l.Want, l.Busy = l.Want*n.greed, l.Busy || n.greed > 1
		if n.want > 0 {
			l.Want, n.want = n.want, 0
		}
		if n.alone {
			l.Nodes = 1
		}
		n.fault.beforeSend(n, l)
		n.tracef(keyOf(l), "%v requests%s", n, asRequest(*l))
	}
	c.timeout = n.afterUnlocked(callTime, func() { c.end(nil) })
	if n.happens(n.net.loseRequest) {
		n.checker.lostRequest(n, sent)
		return
	}
	n.after(n.wayOfRequest(), func() {
		n.simulation.store.answer(n, sent)
		if n.happens(n.net.loseAnswer) {
			n.checker.lostAnswer(n, sent)
			return
		}
		n.afterUnlocked(n.way(), func() { c.end(sent) })
	})
}

// wayOfRequest returns how long a request takes, in µs. Where nothing is random, no request
// overtakes another one of the node.
func (n *simNode) wayOfRequest() int64 {
	way := n.way()
	if n.net.jitter == 0 && n.net.late == 0 {
		n.arrives = max(n.arrives+1, n.now()+limiter.Instant(way))
		way = int64(n.arrives - n.now())
	}
	return way
}

// end gives the node its answers, or an error if there are none.
func (c *call) end(answers []limiter.LeaseRequest) {
	n := c.simNode
	n.mu.Lock()
	late, first := c.over || n.gone, !c.over
	c.over = true
	for i := range c.requests {
		if l := &c.requests[i]; first && checks(l.Rule) {
			n.key(keyOf(l)).ended(c, answers != nil)
		}
	}
	switch {
	case answers == nil && first:
		n.sums[0].failed++
		n.tracef(keyOf(&c.requests[0]), "%v: no answer in time", n)
	case late:
		n.checker.lostAnswer(n, answers)
	default:
		for i := range answers {
			a := &answers[i]
			if checks(a.Rule) {
				n.checker.answered(n, a)
				n.fault.beforeAnswer(n, a, n.now()-c.sent)
			}
			l := &c.requests[i]
			l.Decision, l.Served, l.Unserved, l.Incarnation = a.Decision, a.Served, a.Unserved, a.Incarnation
			l.Granted, l.GrantedShare, l.Expires, l.Held = a.Granted, a.GrantedShare, a.Expires, a.Held
			l.Ample, l.RecalledAt = a.Ample, a.RecalledAt
			if n.steady {
				l.Nodes = 1
			}
		}
	}
	result := n.fault.result(n, c.requests)
	n.mu.Unlock()
	switch {
	case answers != nil && !late:
		c.timeout.Stop()
		c.answered(result)
	case first:
		c.timeout.Stop()
		c.answered(errLost)
	}
}

// Lag implements [limiter.Lender].
func (n *simNode) Lag() time.Duration { return n.lagInOrder() }

// Refusal implements [limiter.Lender].
func (n *simNode) Refusal([]byte) error {
	if n.outage.Load() {
		return errNotAsked
	}
	return nil
}

// Peek implements [limiter.Store]: it fails, as only takes of closed zones come here.
func (n *simNode) Peek(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		takes[i].Err = errLost
	}
	return errLost
}
